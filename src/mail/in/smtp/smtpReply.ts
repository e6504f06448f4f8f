/** An SMTP reply to the sender; smtp-server adds the enhanced code: 5.1.1 to 550, 4.3.0 to 451. */
export class SmtpReply extends Error {
  readonly responseCode: number;
  constructor(responseCode: number, message: string) {
    super(message);
    this.responseCode = responseCode;
  }
}
