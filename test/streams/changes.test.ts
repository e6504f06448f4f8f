import { expect } from "chai";
import { changedFields, type WrittenContent } from "#streams/draft/changes.ts";
import { submitted } from "#test/support/examples/drafts.ts";

const content = submitted().data.content!;
const written = (
  different: Partial<WrittenContent["content"]> = {},
  rationale: string | null = null,
): WrittenContent => ({
  content: { ...content, ...different },
  rationale,
});

describe("what an edit changed in a draft", () => {
  it("is nothing where it says the same", () => {
    expect(changedFields(written(), written({ to: [...content.to] }))).to.deep.equal([]);
  });

  it("is each field that differs, in the contract's names, and the rationale", () => {
    const after = written({ subject: "another", bcc: ["b@x.example"], body_html: "<p>x</p>" }, "why");
    expect(changedFields(written(), after)).to.deep.equal(["body_html", "subject", "bcc", "rationale"]);
  });

  it("leaves out what is the identity's: nobody edits that", () => {
    expect(changedFields(written(), written({ reply_to: "other@x.example", signature_text: "x" }))).to.deep.equal([]);
  });
});
