/** Makes a delivery status report about a mail that could not be delivered. */
export const bounceOf = (rfcMessageId: string): string =>
  [
    "Message-ID: <report@mx.example>",
    "From: MAILER-DAEMON@mx.example",
    "Subject: Undelivered mail",
    "Date: Mon, 16 Nov 2026 10:05:00 +0000",
    'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
    "",
    "--b",
    "Content-Type: message/delivery-status",
    "",
    "Action: failed",
    "Status: 5.1.1",
    "",
    "--b",
    "Content-Type: text/rfc822-headers",
    "",
    `Message-ID: ${rfcMessageId}`,
    "",
    "--b--",
    "",
  ].join("\r\n");
