import type { ChangesCommand } from "#streams/draft/changesRequest.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import type { EditDraft } from "#streams/draft/edits.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import type { ReviewCommand } from "#streams/draft/review.ts";
import { approved, edited, submitted } from "#test/support/examples/drafts.ts";
import { given } from "#test/support/given.ts";

const draft = (...events: DraftEvent[]) => given(draftDecider, submitted(), ...events);

type Request = Extract<ChangesCommand, { type: "RequestChanges" }>;

const ask = (different: Partial<Request> = {}): Request => ({
  ...{ type: "RequestChanges", text: "Say when.", ifVersion: 1, contentSha256: null, tokenSha256: null },
  ...{ requester: "session:ann" },
  ...different,
});
const requested = (different: Partial<Extract<DraftEvent, { type: "ChangesRequested" }>["data"]> = {}): DraftEvent => ({
  type: "ChangesRequested",
  data: {
    ...{ version: 1, contentSha256: "hash 1", text: "Say when.", tokenSha256: null, requester: "session:ann" },
    ...different,
  },
});
const withdraw = (requester: string, also: string[] = []): ChangesCommand => ({
  type: "WithdrawChangesRequest",
  requester,
  also,
});
const withdrawn: DraftEvent = { type: "ChangesRequestWithdrawn", data: { version: 1 } };
const reminded: DraftEvent = { type: "ChangesReminded", data: { version: 1 } };
const approve = (tokenSha256: string | null = null, ifVersion = 1): ReviewCommand => ({
  ...{ type: "ApproveDraft", ifVersion, contentSha256: null, tokenSha256, sendRequested: true },
});
const reject = (tokenSha256: string | null): ReviewCommand => ({
  ...{ type: "RejectDraft", reason: null, ifVersion: 1, tokenSha256 },
});
const edit = (ifVersion: number, different: Partial<EditDraft> = {}): EditDraft => {
  const { version: _, ...data } = edited(ifVersion + 1).data;
  return { type: "EditDraft", ...data, because: "edit", ifVersion, ...different };
};

describe("a request for changes", () => {
  it("a request for changes names the version, the text and the approver, and leaves the draft pending", () => {
    draft().when(ask()).then(requested());
    draft()
      .when(ask({ also: ["mailbox:ann@example.com"] }))
      .then(requested({ also: ["mailbox:ann@example.com"] }));
  });

  it("a request for changes is refused for another version, another content and a decided draft", () => {
    draft()
      .when(ask({ ifVersion: 2 }))
      .thenRejected("version_mismatch");
    draft()
      .when(ask({ contentSha256: "another" }))
      .thenRejected("version_mismatch");
    draft(approved(1)).when(ask()).thenRejected("invalid_status");
  });

  it("a repeated request for changes changes nothing, and another one is refused while it is open", () => {
    draft(requested()).when(ask()).then();
    draft(requested())
      .when(ask({ text: "Say why." }))
      .thenRejected("changes_requested");
    draft(requested())
      .when(ask({ requester: "session:bob" }))
      .thenRejected("changes_requested");
  });

  it("nobody approves or sends a version whose changes are requested, and no link decides about it", () => {
    draft(requested()).when(approve()).thenRejected("changes_requested");
    draft(requested()).when(approve("token")).thenRejected("changes_requested");
    draft(requested())
      .when({ ...approve(), grantedBy: { runId: "run", ruleId: "rule" } } as ReviewCommand)
      .thenRejected("changes_requested");
    draft(requested()).when(reject("token")).thenRejected("changes_requested");
    draft(requested(), reminded).when(approve()).thenRejected("changes_requested");
    draft(requested()).when(reject(null)).thenTypes("DraftRejected");
  });

  it("a person's edit with an approval answers the request; without a change it is refused", () => {
    const authorApproval = {
      voting: { voter: "session:bob", place: null, required: 1, keysCount: false },
      undoWindow: { sendAfter: "2026-01-01T12:00:10.000Z" },
      sendRequested: true,
    };
    draft(requested())
      .when({ type: "EditAndApprove", edit: edit(1), authorApproval })
      .thenTypes("DraftEdited", "DraftApproved");
    draft(requested())
      .when({ type: "EditAndApprove", edit: edit(1, { changedFields: [] }), authorApproval })
      .thenRejected("changes_requested");
  });

  it("an author's edit answers a request for changes, and a version by the service carries it over", () => {
    draft(requested(), edited(2)).when(approve(null, 2)).thenTypes("DraftApproved");
    draft(requested(), edited(2, { because: "identity_changed" }))
      .when(approve(null, 2))
      .thenRejected("changes_requested");
  });

  it("only the approver who asked for changes withdraws the request, under any of their names", () => {
    draft(requested()).when(withdraw("session:ann")).then(withdrawn);
    draft(requested({ also: ["mailbox:ann@example.com"] }))
      .when(withdraw("mailbox:ann@example.com"))
      .then(withdrawn);
    draft(requested()).when(withdraw("session:bob")).thenRejected("invalid_status");
    draft(requested(), withdrawn).when(withdraw("session:ann")).then();
    draft(requested(), withdrawn).when(approve()).thenTypes("DraftApproved");
  });

  it("a reminder of requested changes is recorded once for each open request", () => {
    draft(requested()).when({ type: "RemindOfChanges" }).then(reminded);
    draft(requested(), reminded).when({ type: "RemindOfChanges" }).then();
    draft(requested(), edited(2)).when({ type: "RemindOfChanges" }).then();
    draft().when({ type: "RemindOfChanges" }).then();
  });
});
