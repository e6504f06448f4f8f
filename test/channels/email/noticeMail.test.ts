import { expect } from "chai";
import { renderNoticeMail } from "#src/channels/email/noticeMail.ts";

const hostile = `<img src=x onerror=alert(1)> "Ann" & co`;

describe("renderNoticeMail", () => {
  const { text, html } = renderNoticeMail({
    subject: "You are invited",
    paragraphs: [`${hostile} invites you.`, "First line\nSecond line"],
    button: { label: "Accept", url: "https://mail.example/invitation/token?a=1&b=2" },
    facts: ["The link expires."],
  });

  it("a mail has a heading, its paragraphs, one button, and small print, in text and in HTML", () => {
    expect(text).to.equal(
      `${hostile} invites you.\n\nFirst line\nSecond line\n\nAccept:\nhttps://mail.example/invitation/token?a=1&b=2\n\nThe link expires.`,
    );
    expect(html).to.match(/<h1[^>]*>You are invited<\/h1>/);
    expect(html).to.include("First line<br>Second line").and.to.include("The link expires.");
    expect(html.match(/<a /g)).to.have.length(1);
    expect(html).to.match(/<a href="https:\/\/mail\.example\/invitation\/token\?a=1&amp;b=2"[^>]*>Accept<\/a>/);
  });

  it("a mail fits a phone and has dark colours", () => {
    expect(html).to.include('name="viewport"').and.to.include("prefers-color-scheme: dark");
  });

  it("words by others are escaped", () => {
    expect(html).to.not.include("<img");
    expect(html).to.include("&lt;img src=x onerror=alert(1)&gt; &quot;Ann&quot; &amp; co invites you.");
  });

  it("a mail without link or small print has neither", () => {
    const plain = renderNoticeMail({ subject: "Test", paragraphs: ["Only this."] });
    expect(plain.text).to.equal("Only this.");
    expect(plain.html).to.not.match(/<a |border-top/);
  });
});
