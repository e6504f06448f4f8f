import type { DraftEvent } from "#streams/draft/events.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { Tx } from "../projection.ts";
import { type Table, upsertRows } from "../rows.ts";
import type { DraftRow } from "./row.ts";

/** `waiting`: nobody has been reached yet. `reached`: a mail of it was taken. `given_up`: it is not tried again. */
type RequestState = "waiting" | "reached" | "given_up";

/** The newest request about a draft at one mailbox. */
type RequestRow = {
  draft_id: string;
  /** In lower case: mailboxes differ in more. */
  address: string;
  workspace_id: string;
  slot: string;
  notification_id: string;
  version: number;
  bundled: boolean;
  state: RequestState;
  /** How often it was tried in vain. */
  tries: number;
  /** When this version was first asked about here. */
  since: string | Date;
  /** The draft is pending in this very version. */
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

/** What is asked of whom by mail, after these events of drafts; `drafts` are their rows as the events leave them. */
export async function projectRequests(
  tx: Tx,
  events: readonly Recorded<DraftEvent>[],
  drafts: ReadonlyMap<string, DraftRow>,
): Promise<void> {
  if (drafts.size === 0) return;
  const { rows } = await tx.query<RequestRow>(
    `select ${table.columns.join(", ")} from approval_requests where draft_id = any($1::uuid[])`,
    [[...drafts.keys()]],
  );
  const requests = new Map(rows.map((row) => [keyOf(row), row]));
  for (const event of events) applyToRequests(requests, event, drafts);
  const after = [...requests.values()].map((row) => {
    const draft = drafts.get(row.draft_id);
    return { ...row, open: draft?.status === "pending" && draft.version === row.version };
  });
  await upsertRows(tx, table, after);
}

function applyToRequests(
  requests: Map<string, RequestRow>,
  event: Recorded<DraftEvent>,
  drafts: ReadonlyMap<string, DraftRow>,
): void {
  const draftId = idOf(event.stream);
  if (event.type === "ApproversAsked") {
    const asked = requestOf(event, draftId, drafts.get(draftId)?.workspace_id as string);
    if (!asked) return;
    const before = requests.get(keyOf(asked));
    const again = before?.version === asked.version;
    const since = again ? before.since : asked.since;
    requests.set(keyOf(asked), { ...asked, since, tries: again && before.state === "waiting" ? before.tries : 0 });
    return;
  }
  if (event.type !== "ApproversNotified" && event.type !== "NotificationFailed") return;
  const { notificationId } = event.data;
  const request = [...requests.values()].find(({ notification_id }) => notification_id === notificationId);
  if (!request) return;
  const ended =
    event.type === "ApproversNotified"
      ? { state: "reached" as const }
      : { state: event.data.final ? ("given_up" as const) : ("waiting" as const), tries: request.tries + 1 };
  requests.set(keyOf(request), { ...request, ...ended });
}

/** Undefined for a channel without an address. */
function requestOf(
  { data, metadata }: Recorded<Extract<DraftEvent, { type: "ApproversAsked" }>>,
  draftId: string,
  workspaceId: string,
): RequestRow | undefined {
  const { address, slot } = data.channel;
  if (!address) return undefined;
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
