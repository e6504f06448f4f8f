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

describe("the changes that an edit makes to a draft", () => {
  it("an edit that says the same changes no field", () => {
    expect(changedFields(written(), written({ to: [...content.to] }))).to.deep.equal([]);
  });

  it("an edit's changes are the fields that differ, under the contract's names, and the rationale", () => {
    const after = written({ subject: "another", bcc: ["b@x.example"], body_html: "<p>x</p>" }, "why");
    expect(changedFields(written(), after)).to.deep.equal(["body_html", "subject", "bcc", "rationale"]);
  });

  it("an edit's changes leave out the identity's fields, which nobody edits", () => {
    expect(changedFields(written(), written({ reply_to: "other@x.example", signature_text: "x" }))).to.deep.equal([]);
  });
});
