import { readFileSync } from "node:fs";
import { expect } from "chai";
import { readHeaders } from "#src/mail/in/headers.ts";
import { archives, classes, classificationFigures, isMachine, rates } from "./classificationFigures.ts";
import { hasCorpus, mail } from "./mails.ts";

describe("telling machines' mail apart", () => {
  const kindOf = (headers: string[], body = "") => readHeaders(mail(headers, body)).classification;
  const from = "From: MAILER-DAEMON@mx.example";
  const report = 'Content-Type: multipart/report; report-type=delivery-status; boundary="b"';
  const recipient = (action: string) =>
    `Final-Recipient: rfc822; ann@x.example\r\nAction: ${action}\r\nStatus: 4.0.0\r\n`;

  it("takes a delay for no bounce, whether or not it comes in the form of a report", () => {
    for (const header of [[from], [from, report], ["From: a@b.example", "X-Failed-Recipients: ann@x.example"]]) {
      expect(kindOf(header, recipient("delayed")), header.join()).to.equal("auto_reply");
      expect(kindOf(header, recipient("failed")), header.join()).to.equal("bounce");
      expect(kindOf(header, "It could not be delivered."), header.join()).to.equal("bounce");
    }
  });

  it("takes one recipient's failure among others' delays for a bounce, and a word of the server's own too", () => {
    const two = `${recipient("delayed")}\r\n${recipient("failed")}`;
    expect(kindOf([from, report], two)).to.equal("bounce");
    expect(kindOf([from, report], recipient("expired"))).to.equal("bounce");
  });

  it("is not misled by what stands in the mail that is reported", () => {
    const body = `${recipient("delayed")}\r\nFrom: a@ours.example\r\n\r\nAction: failed\r\nAction: please pay\r\n`;
    expect(kindOf([from, report], body)).to.equal("auto_reply");
  });

  it("finds an id that quoted-printable has broken in two", () => {
    const body = "From: a@ours.example\r\nMessage-ID: <long=\r\n-id@ours.example>\r\nReferences: <earl=\r\nier@x>\r\n";
    const { reportedMessageIds, reportedReferences } = readHeaders(mail([from], body));
    expect([reportedMessageIds, reportedReferences]).to.deep.equal([["<long-id@ours.example>"], ["<earlier@x>"]]);
  });

  if (archives.every(hasCorpus))
    it("succeeds with others' collections as often as README.md says, and takes hardly a person for a machine", async () => {
      const { mails, matching } = await classificationFigures();
      const bounce = rates(mails, "bounce");
      expect(bounce.precision).to.be.at.least(99.5);
      expect(bounce.recall).to.be.at.least(97);
      const automatic = rates(mails, "auto_reply");
      expect(automatic.precision).to.be.at.least(94);
      expect(automatic.recall).to.be.at.least(89);
      expect(rates(mails, "person").recall).to.be.at.least(98.5);
      expect(mails.filter(({ is, taken }) => !isMachine(is) && isMachine(taken))).to.have.length.at.most(1);
      expect(matching.found / matching.shown).to.be.at.least(0.98);
      const rows = classes.map((kind) => {
        const { of, precision, recall } = rates(mails, kind);
        return `| ${kind} | ${of} | ${precision} % | ${recall} % |`;
      });
      const mistaken = mails.filter(({ is, taken }) => is !== taken);
      const list = mistaken.map(({ name, is, taken }) => `${name}: ${is}, taken for ${taken}`);
      const matched = `- ${matching.found} of ${matching.shown} bounces`;
      expect(readFileSync("src/mail/README.md", "utf8"), list.join("\n"))
        .to.include(rows.join("\n"))
        .and.to.include(matched);
    });
});
