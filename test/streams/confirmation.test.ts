import { expect } from "chai";
import { fold } from "#streams/decider.ts";
import { codeTriesLeft } from "#streams/draft/confirmation.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import { asked, closed, refusedCode, submitted } from "#test/support/examples/drafts.ts";
import { given } from "#test/support/given.ts";

const draft = (...events: DraftEvent[]) => given(draftDecider, ...events);
const approve = (tokenSha256: string | null, codeMacs?: string[]) =>
  ({ type: "ApproveDraft", ifVersion: 1, contentSha256: null, sendRequested: true, tokenSha256, codeMacs }) as const;
const reject = (tokenSha256: string | null, codeMacs?: string[]) =>
  ({ type: "RejectDraft", reason: null, ifVersion: 1, tokenSha256, codeMacs }) as const;
const wrong = (times: number, notificationId = "one") =>
  Array.from({ length: times }, () => refusedCode(notificationId));

describe("a link whose page asks for a code", () => {
  const events = [submitted(), asked("one", { confirmCode: "right" }), asked("two", { confirmCode: "other" })];

  for (const [name, decide, decided] of [
    ["approve", approve, "DraftApproved"],
    ["reject", reject, "DraftRejected"],
  ] as const) {
    it(`the right code, made under any key of the ring, decides by a link that asks for it: ${name}`, () => {
      draft(...events)
        .when(decide(`one ${name}`, ["right", "under an older key"]))
        .thenTypes(decided);
      draft(...events)
        .when(decide(`one ${name}`, ["under a newer key", "right"]))
        .thenTypes(decided);
    });

    it(`a link that asks for a code decides nothing without it, and a wrong code is recorded: ${name}`, () => {
      draft(...events)
        .when(decide(`one ${name}`))
        .thenRejected("confirm_code_missing");
      for (const codeMacs of [["wrong"], ["other"], []]) {
        draft(...events)
          .when(decide(`one ${name}`, codeMacs))
          .then(refusedCode("one"));
      }
    });

    it(`the fifth wrong code closes a link whatever follows, and another link has its own count: ${name}`, () => {
      draft(...events, ...wrong(4))
        .when(decide(`one ${name}`, ["wrong"]))
        .then(refusedCode("one"), closed("one", "wrong_codes"));
      draft(...events, ...wrong(4))
        .when(decide(`one ${name}`, ["right"]))
        .thenTypes(decided);
      for (const codeMacs of [["right"], ["wrong"], undefined]) {
        draft(...events, ...wrong(5), closed("one", "wrong_codes"))
          .when(decide(`one ${name}`, codeMacs))
          .thenRejected("link_closed");
      }
      draft(...events, ...wrong(5), closed("one", "wrong_codes"))
        .when(decide(`two ${name}`, ["other"]))
        .thenTypes(decided);
    });

    it(`requests made before codes existed and a key's decision need no code: ${name}`, () => {
      for (const codeMacs of [undefined, ["anything"]]) {
        draft(submitted(), asked("one"))
          .when(decide(`one ${name}`, codeMacs))
          .thenTypes(decided);
      }
      draft(...events)
        .when(decide(null))
        .thenTypes(decided);
    });
  }

  it("a link says how many tries of its code are left", () => {
    const left = (times: number) => codeTriesLeft(fold(draftDecider, [...events, ...wrong(times)]), "one");
    expect([0, 1, 4, 5, 6].map(left)).to.deep.equal([5, 4, 1, 0, 0]);
  });
});
