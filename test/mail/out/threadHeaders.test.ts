import { createHash } from "node:crypto";
import { expect } from "chai";
import { derivedMessageId, messageIdsIn } from "#src/mail/in/messageIds.ts";
import { answerHeaders } from "#src/mail/out/threadHeaders.ts";

const derived = derivedMessageId(createHash("sha256").update("raw").digest("hex"));
const [shortened = ""] = messageIdsIn(`<${"x".repeat(500)}@customer.example>`);

describe("the headers of an answer", () => {
  it("name the answered mail, last of its references", () => {
    expect(answerHeaders({ messageId: "<b@x>", references: ["<a@x>"] })).to.deep.equal({
      in_reply_to: "<b@x>",
      references: ["<a@x>", "<b@x>"],
    });
  });

  for (const [what, id] of Object.entries({ "a mail without one": derived, "one too long": shortened })) {
    it(`never name an id made here, for ${what}`, () => {
      expect(answerHeaders({ messageId: id, references: ["<a@x>", id] })).to.deep.equal({
        in_reply_to: null,
        references: ["<a@x>"],
      });
    });
  }
});
