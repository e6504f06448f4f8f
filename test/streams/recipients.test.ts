import { expect } from "chai";
import { readHeaders } from "#src/mail/in/headers.ts";
import { Rejected } from "#streams/decider.ts";
import {
  copiesToEverybody,
  recipientsOfReply,
  requireFewCopies,
  requireOtherRecipients,
  requireUsableRecipients,
} from "#streams/draft/recipients.ts";

const identity = { emailAddress: "help@agents.example", replyToEmail: "Team@agents.example" };
const message = (reply_to: string[], from_email = "ada@customer.example") => ({
  reply_to,
  from_email,
  to_emails: ["help@agents.example", "dan@x.example"],
});
const to = (...replyTo: string[]) => recipientsOfReply(message(replyTo), identity);

describe("the recipients of an answer", () => {
  it("an answer goes to Reply-To if that names one address, else to From", () => {
    const ada = ["ada@customer.example"];
    expect(to()).to.deep.equal(ada);
    expect(to("desk@customer.example")).to.deep.equal(["desk@customer.example"]);
    expect(to("desk@customer.example", "DESK@Customer.example"), "one address twice").to.deep.equal([
      "desk@customer.example",
    ]);
    expect(to("ada@customer.example", "mallory@evil.example"), "two addresses").to.deep.equal(ada);
    expect(to(...Array.from({ length: 100 }, (_, index) => `a${index}@x.example`)), "a hundred").to.deep.equal(ada);
  });

  it("an answer never goes to the identity itself, its tags or its own Reply-To", () => {
    expect(to("help+x@agents.example", "team@agents.example")).to.deep.equal(["ada@customer.example"]);
    for (const own of ["help+x@agents.example", "team@agents.example", "Help@agents.example"])
      expect(to(own), own).to.deep.equal(["ada@customer.example"]);
    const plain = { ...identity, replyToEmail: null };
    expect(recipientsOfReply(message(["team@agents.example"]), plain)).to.deep.equal(["team@agents.example"]);
    expect(to("HELP@agents.example", "desk@customer.example")).to.deep.equal(["desk@customer.example"]);
  });

  it("an answer to the identity's own mail goes to the only one to whom that was sent", () => {
    const toOf = (to_emails: string[], from_email = "Help@agents.example") =>
      recipientsOfReply({ from_email, reply_to: ["Team@agents.example"], to_emails }, identity);
    expect(toOf(["ada@customer.example"])).to.deep.equal(["ada@customer.example"]);
    expect(toOf(["ada@customer.example"], "help+7@agents.example")).to.deep.equal(["ada@customer.example"]);
    for (const others of [[], ["help@agents.example"], ["ada@customer.example", "eve@x.example"]])
      expect(toOf(others), String(others)).to.deep.equal(["Help@agents.example"]);
    expect(toOf(["help@agents.example", "eve@x.example"], "team@agents.example")).to.deep.equal([
      "team@agents.example",
    ]);
  });

  it("an answer to a message without a sender is refused", () => {
    expect(() => recipientsOfReply(message([], ""), identity)).to.throw(Rejected, /no sender/);
  });

  it("an answer's copies go to everybody else, the others of Reply-To first", () => {
    const all = {
      from_email: "ada@customer.example",
      reply_to: ["ada@customer.example", "desk@customer.example"],
      to_emails: ["help@agents.example", "dan@x.example"],
      cc_emails: ["Desk@customer.example", "carl@x.example", "eve@x.example"],
    };
    const named = { to: ["ada@customer.example"], cc: ["eve@x.example"], bcc: ["dan@x.example"] };
    const nobody = { hosted: [], forwarders: [] };
    expect(copiesToEverybody(all, named, { identity, leftOut: nobody })).to.deep.equal({
      cc: ["eve@x.example", "desk@customer.example", "carl@x.example"],
      leftOut: nobody,
    });
  });

  it("an answer's copies leave out addresses of the workspace, and those that forwarded the message unless they sent it", () => {
    const all = {
      from_email: "list@corp.example",
      reply_to: [],
      to_emails: ["Sales@agents.example", "Info@corp.example", "list@corp.example"],
      cc_emails: ["dan@x.example"],
    };
    const leftOut = { hosted: ["sales@agents.example"], forwarders: ["info@corp.example", "list@corp.example"] };
    const given = { to: ["ada@customer.example"], cc: [], bcc: [] };
    expect(copiesToEverybody(all, given, { identity, leftOut })).to.deep.equal({
      cc: ["list@corp.example", "dan@x.example"],
      leftOut: { hosted: ["Sales@agents.example"], forwarders: ["Info@corp.example"] },
    });
  });
});

describe("the recipients of a mail", () => {
  const content = (more: { to?: string[]; cc?: string[]; bcc?: string[] }) => ({ to: [], cc: [], bcc: [], ...more });

  it("a mail names each recipient once across to, cc and bcc, in whatever case", () => {
    requireUsableRecipients(content({ to: ["a@x.example"], cc: ["b@x.example"], bcc: ["c@x.example"] }));
    expect(() => requireUsableRecipients(content({ to: ["a@x.example"], bcc: ["A@x.example"] })))
      .to.throw(Rejected, /already/)
      .with.property("details")
      .that.includes({ field: "bcc" });
  });

  it("a recipient address that can be read but not mailed is refused with a sentence", () => {
    requireUsableRecipients(
      content({ to: ["yui..tanaka@x.example"], cc: ['"odd user"@x.example'], bcc: ["ada@bücher.example"] }),
    );
    for (const address of ["ada@x..example", "ada[1]@x.example", "nobody"])
      expect(() => requireUsableRecipients(content({ to: [address] })), address)
        .to.throw(Rejected, `no mail can be sent to ${address}: it is not a valid address`)
        .with.property("details")
        .that.includes({ field: "to" });
  });

  it("an identity writes no mail to itself, with a tag or without, in any field", () => {
    for (const field of ["to", "cc", "bcc"] as const)
      for (const own of ["help@agents.example", "Help+x@agents.example"])
        expect(() => requireOtherRecipients(content({ [field]: ["ada@x.example", own] }), identity), own)
          .to.throw(Rejected, /identity's own address/)
          .with.property("details")
          .that.includes({ field });
    requireOtherRecipients(content({ to: ["team@agents.example"], cc: ["help@x.example"] }), identity);
  });

  it("a mail has at most 50 recipients in copy", () => {
    const cc = Array.from({ length: 51 }, (_, n) => `a${n}@x.example`);
    requireFewCopies({ cc: cc.slice(1) });
    expect(() => requireFewCopies({ cc })).to.throw(Rejected, /more than 50/);
  });
});

describe("Reply-To", () => {
  const replyTo = (...lines: string[]) => readHeaders(Buffer.from(`${lines.join("\r\n")}\r\n\r\n`)).replyTo;

  it("Reply-To is read over all of its fields, with groups opened", () => {
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
