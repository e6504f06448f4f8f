import { expect } from "chai";
import { answerOf, copiesToEverybody } from "#src/commands/answers.ts";
import { readHeaders } from "#src/mail/in/headers.ts";
import { Rejected } from "#streams/decider.ts";

const identity = { emailAddress: "help@agents.example", replyToEmail: "Team@agents.example" };
const message = (reply_to: string[], from_email = "ada@customer.example") => ({
  reply_to,
  from_email,
  rfc_message_id: "<q@customer.example>",
  reference_ids: [],
});
const to = (...replyTo: string[]) => answerOf(message(replyTo), identity).to;

describe("an answer goes", () => {
  it("to Reply-To where that names one address, else to From", () => {
    const ada = ["ada@customer.example"];
    expect(to()).to.deep.equal(ada);
    expect(to("desk@customer.example")).to.deep.equal(["desk@customer.example"]);
    expect(to("desk@customer.example", "DESK@Customer.example"), "one address twice").to.deep.equal([
      "desk@customer.example",
    ]);
    expect(to("ada@customer.example", "mallory@evil.example"), "two addresses").to.deep.equal(ada);
    expect(to(...Array.from({ length: 100 }, (_, index) => `a${index}@x.example`)), "a hundred").to.deep.equal(ada);
  });

  it("never to the identity itself, its tags or its own Reply-To", () => {
    expect(to("help+x@agents.example", "team@agents.example")).to.deep.equal(["ada@customer.example"]);
    expect(to("HELP@agents.example", "desk@customer.example")).to.deep.equal(["desk@customer.example"]);
  });

  it("to nobody where nobody is named", () => {
    expect(() => answerOf(message([], ""), identity)).to.throw(Rejected, /no sender/);
  });

  it("to everybody else in copy, the others of Reply-To first", () => {
    const all = {
      reply_to: ["ada@customer.example", "desk@customer.example"],
      to_emails: ["help@agents.example", "dan@x.example"],
      cc_emails: ["Desk@customer.example", "carl@x.example", "eve@x.example"],
    };
    const named = { cc: ["eve@x.example"], bcc: ["dan@x.example"] };
    expect(copiesToEverybody(all, { to: ["ada@customer.example"] }, named, identity)).to.deep.equal([
      "eve@x.example",
      "desk@customer.example",
      "carl@x.example",
    ]);
  });
});

describe("Reply-To", () => {
  const replyTo = (...lines: string[]) => readHeaders(Buffer.from(`${lines.join("\r\n")}\r\n\r\n`)).replyTo;

  it("is read over all of its fields, with groups opened", () => {
    expect(replyTo("Reply-To: ada@x.example", "Subject: x", "Reply-To: mallory@evil.example")).to.deep.equal([
      "ada@x.example",
      "mallory@evil.example",
    ]);
    expect(replyTo("Reply-To: Desk: ada@x.example, bob@x.example;, carl@x.example")).to.deep.equal([
      "ada@x.example",
      "bob@x.example",
      "carl@x.example",
    ]);
  });
});
