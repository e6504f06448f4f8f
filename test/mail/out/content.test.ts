import { createHash } from "node:crypto";
import { expect } from "chai";
import { canonicalJson, contentSha256 } from "#src/mail/out/content.ts";
import { draftContent } from "#test/support/draftContent.ts";

describe("the content hash", () => {
  it("the content hash is the SHA-256 of handwritten RFC 8785 JSON", () => {
    const canonical =
      '{"attachments":[],"bcc":[],"body_html":null,"body_text":"Hello Ann,\\n\\nit is on its way.","cc":[],"from":{"address":"support@agents.localhost","name":"Zoë"},' +
      '"in_reply_to":"<question@customer.example>","references":["<question@customer.example>"],"reply_to":null,"signature_html":null,"signature_text":null,' +
      '"subject":"Re: My order","to":["ann@customer.example"]}';
    const content = draftContent({ from: { name: "Zoë", address: "support@agents.localhost" } });
    expect(canonicalJson(content)).to.equal(canonical);
    expect(contentSha256(content)).to.equal(createHash("sha256").update(canonical).digest("hex"));
  });

  it("the content hash does not depend on the order of keys or on other properties", () => {
    const content = draftContent();
    const reversed = Object.fromEntries(Object.entries(content).reverse()) as typeof content;
    expect(contentSha256({ ...reversed, rationale: "because" } as typeof content)).to.equal(contentSha256(content));
  });

  it("the content hash changes with every field and with the order of recipients", () => {
    const file = { filename: "a.txt", content_type: "text/plain", sha256: "0".repeat(64) };
    const changes = [
      draftContent(),
      draftContent({ from: { name: "Sales", address: "support@agents.localhost" } }),
      draftContent({ from: { name: "Support", address: "sales@agents.localhost" } }),
      draftContent({ reply_to: "x@y.example" }),
      draftContent({ to: ["bob@customer.example"] }),
      draftContent({ cc: ["bob@customer.example"] }),
      draftContent({ cc: ["bob@customer.example", "cid@customer.example"] }),
      draftContent({ cc: ["cid@customer.example", "bob@customer.example"] }),
      draftContent({ bcc: ["bob@customer.example"] }),
      draftContent({ subject: "Re: my order" }),
      draftContent({ body_text: "Hello Ann,\r\n\r\nit is on its way." }),
      draftContent({ body_html: "" }),
      draftContent({ signature_text: "" }),
      draftContent({ signature_html: "" }),
      draftContent({ in_reply_to: null }),
      draftContent({ references: [] }),
      draftContent({ attachments: [file] }),
      draftContent({ attachments: [{ ...file, filename: "b.txt" }] }),
      draftContent({ attachments: [{ ...file, content_type: "text/html" }] }),
      draftContent({ attachments: [{ ...file, sha256: "1".repeat(64) }] }),
    ];
    expect(new Set(changes.map(contentSha256)).size).to.equal(changes.length);
  });

  it("the content hash refuses text that is not valid Unicode", () => {
    expect(() => contentSha256(draftContent({ subject: "\ud800" }))).to.throw();
  });
});
