import type { DraftEvent } from "#streams/draft/events.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { ProjectorTx, Tx } from "../projection.ts";
import { type Table, upsertRows } from "../rows.ts";
import type { DraftRow } from "./row.ts";

/**
 * `waiting`: no approver has been reached yet. `reached`: a mail was accepted. `given_up`: no further attempt follows, or its links were
 * closed.
 */
type RequestState = "waiting" | "reached" | "given_up";

/** The newest request about a draft at one mailbox. */
type RequestRow = {
  draft_id: string;
  /** Address in lower case: mailboxes are distinguished ignoring case. */
  address: string;
  workspace_id: string;
  slot: string;
  notification_id: string;
  version: number;
  bundled: boolean;
  state: RequestState;
  /** Number of failed attempts. */
  tries: number;
  /** Time when the request was first made. Another try to reach the mailbox keeps it. */
  since: string | Date;
  /** True while the draft is pending in this version. */
  open: boolean;
};

const table: Table = {
  table: "approval_requests",
  key: ["draft_id", "address"],
  columns: [
    "draft_id",
    "address",
    "workspace_id",
    "slot",
    "notification_id",
    "version",
    "bundled",
    "state",
    "tries",
    "since",
    "open",
  ],
};

const keyOf = ({ draft_id, address }: Pick<RequestRow, "draft_id" | "address">) => `${draft_id} ${address}`;

type Requests = ReadonlyMap<string, RequestRow>;

/** Reads the requests about these drafts before the batch. */
export async function requestsOf(tx: Tx, draftIds: readonly string[]): Promise<Requests> {
  if (draftIds.length === 0) return new Map();
  const { rows } = await tx.query<RequestRow>(
    `select ${table.columns.join(", ")} from approval_requests where draft_id = any($1::uuid[])`,
    [[...new Set(draftIds)]],
  );
  return new Map(rows.map((row) => [keyOf(row), row]));
}

/** Writes the requests by mail after these events of drafts; `drafts` are their rows after the events. */
export function writeRequests(
  tx: ProjectorTx,
  before: Requests,
  { events, drafts }: { events: readonly Recorded<DraftEvent>[]; drafts: ReadonlyMap<string, DraftRow> },
): void {
  const requests = new Map(before);
  for (const event of events) applyToRequests(requests, event, drafts);
  const changed = [...requests].flatMap(([key, row]) => {
    const draft = drafts.get(row.draft_id);
    const open = draft?.status === "pending" && draft.version === row.version;
    return row === before.get(key) && row.open === open ? [] : [{ ...row, open }];
  });
  upsertRows(tx, table, changed);
}

function applyToRequests(
  requests: Map<string, RequestRow>,
  event: Recorded<DraftEvent>,
  drafts: ReadonlyMap<string, DraftRow>,
): void {
  const draftId = idOf(event.stream);
  if (event.type === "ApproversAsked") {
    const asked = requestOf(event, draftId, drafts.get(draftId)?.workspace_id as string);
    const before = requests.get(keyOf(asked));
    const isRetry = before?.version === asked.version && before.state === "waiting";
    requests.set(keyOf(asked), isRetry ? { ...asked, since: before.since, tries: before.tries } : asked);
    return;
  }
  const end = endOf(event);
  if (!end) return;
  const request = [...requests.values()].find(({ notification_id }) => notification_id === end.notificationId);
  if (!request) return;
  const tries = request.tries + (end.isTry ? 1 : 0);
  requests.set(keyOf(request), { ...request, state: end.state, tries });
}

/** `isTry`: an attempt failed. Waiting for our own mail limits is no attempt. */
type End = { notificationId: string; state: RequestState; isTry?: boolean };

function endOf({ type, data }: DraftEvent): End | undefined {
  switch (type) {
    case "ApproversNotified":
      return { ...data, state: "reached" };
    case "NotificationFailed":
      return { ...data, state: data.final ? "given_up" : "waiting", isTry: !data.final && data.waits === undefined };
    case "ApprovalLinkClosed":
      return { ...data, state: "given_up" };
    default:
      return undefined;
  }
}

function requestOf(
  { data, metadata }: Recorded<Extract<DraftEvent, { type: "ApproversAsked" }>>,
  draftId: string,
  workspaceId: string,
): RequestRow {
  const { address, slot } = data.channel;
  return {
    draft_id: draftId,
    address: address.toLowerCase(),
    workspace_id: workspaceId,
    slot,
    notification_id: data.notificationId,
    version: data.version,
    bundled: data.bundled === true,
    state: "waiting",
    tries: 0,
    since: metadata.at,
    open: false,
  };
}
