import { expect } from "chai";
import { readHeaders } from "#src/mail/in/headers.ts";
import { processorMs } from "#test/support/processorTime.ts";
import { mail } from "./mails.ts";

const told = (headers: readonly string[], body: string) => readHeaders(mail([...headers], body), "").reportedRecipients;

describe("what a report says of each recipient [d5 reports]", () => {
  it("Exim's list of addresses is read, each with the words below it", () => {
    const headers = [
      "From: Mail Delivery System <Mailer-Daemon@mx.example>",
      "Subject: Mail delivery failed: returning message to sender",
      "X-Failed-Recipients: ann@c.example,",
      "  bob@c.example",
    ];
    const body = [
      "This message could not be delivered to all of its recipients.",
      "",
      "  ann@c.example",
      "    SMTP error from remote mail server after RCPT TO:<ann@c.example>:",
      "    550 5.1.1 no such user",
      "  bob@c.example",
      "    retry timeout exceeded",
      "  eve@c.example",
      "    an address of the enclosed mail",
      "",
    ].join("\r\n");
    expect(told(headers, body)).to.deep.equal([
      {
        address: "ann@c.example",
        status: "bounced",
        code: "5.1.1",
        text: "SMTP error from remote mail server after RCPT TO:<ann@c.example>: 550 5.1.1 no such user",
      },
      { address: "bob@c.example", status: "bounced", code: null, text: "retry timeout exceeded" },
    ]);
  });

  it("a long report is read in time proportional to its length, and keeps twenty recipients", () => {
    const headers = [
      "From: a@b.example",
      "Subject: Rejected: x",
      'Content-Type: multipart/report; report-type=disposition-notification; boundary="b"',
    ];
    const body = `${"Content-Type:text/plain\n".repeat(5_000)}${"\n\nFinal-Recipient:x@y.example\n".repeat(5_000)}`;
    expect(processorMs(() => told(headers, body))).to.be.lessThan(500);
    expect(told(headers, body)).to.have.length(20);
  });
});
