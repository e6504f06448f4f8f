import { createHash } from "node:crypto";
import { expect } from "chai";
import { derivedMessageId, messageIdsIn } from "#src/mail/in/messageIds.ts";
import { answerHeaders } from "#src/mail/out/threadHeaders.ts";

const derived = derivedMessageId(createHash("sha256").update("raw").digest("hex"));
const [shortened = ""] = messageIdsIn(`<${"x".repeat(500)}@customer.example>`);

describe("answerHeaders", () => {
  it("the headers of an answer name the answered mail as the last reference", () => {
    expect(answerHeaders({ messageId: "<b@x>", references: ["<a@x>"] })).to.deep.equal({
      in_reply_to: "<b@x>",
      references: ["<a@x>", "<b@x>"],
    });
  });

  for (const [what, id] of Object.entries({ "a mail without one": derived, "one too long": shortened })) {
    it(`the headers of an answer name no derived id for ${what}`, () => {
      expect(answerHeaders({ messageId: id, references: ["<a@x>", id] })).to.deep.equal({
        in_reply_to: null,
        references: ["<a@x>"],
      });
    });
  }
});
