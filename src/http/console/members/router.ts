import { randomUUID } from "node:crypto";
import { removeMember } from "#src/commands/members/members.ts";
import { Rejected } from "#streams/decider.ts";
import { requireDrained } from "../../framework/keys/requireDrained.ts";
import { callerFrom } from "../../framework/runRoute.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import type { Notice } from "../framework/notices.ts";
import { type ConsoleAnswer, type ConsoleRoute, consoleForm, consolePage, seeOther, shown } from "../framework/page.ts";
import type { PageContext, PageRefusal } from "../framework/pageContext.ts";
import { changePage, invitePage, mayChange, membersPage, ownMembership, type ShownMember } from "./pages.ts";

const overview = "/settings/members";

export const memberPages = (deps: ConsoleDependencies): ConsoleRoute[] => [
  consolePage("GET /settings/members", (visit) => everybody(deps, visit)),

  consolePage("GET /settings/members/invite", async (visit) => inviting(visit), { sensitive: true }),
  consoleForm(
    "POST /settings/members/invite",
    async (visit) => {
      const refused = await visit.attempt(() =>
        visit.ask("POST /v1/members", { body: said(visit, ["email", "role"]) }),
      );
      return refused ? inviting(visit, refused) : seeOther(overview, "invited");
    },
    { sensitive: true, once: true },
  ),

  consoleForm("POST /settings/members/leave", (visit) => leave(deps, visit), { sensitive: true }),

  consolePage("GET /settings/members/:id", async (visit) => changing(visit), { sensitive: true }),
  change("role", (visit) => visit.ask("PATCH /v1/members/:id", { params: visit.params, body: said(visit, ["role"]) }), {
    notice: "memberChanged",
  }),
  change("resend", (visit) => visit.ask("POST /v1/members/:id/resend", { params: visit.params }), {
    notice: "invited",
  }),
  change("remove", (visit) => visit.ask("DELETE /v1/members/:id", { params: visit.params }), {
    notice: "memberRemoved",
  }),
];

/** A form about one member; if it is refused, the member's page shows why. */
function change(
  what: "role" | "resend" | "remove",
  does: (visit: PageContext) => Promise<unknown>,
  { notice }: { notice: Notice },
): ConsoleRoute {
  return consoleForm(
    `POST /settings/members/:id/${what}`,
    async (visit) => {
      const refused = await visit.attempt(() => does(visit));
      return refused ? changing(visit, refused) : seeOther(overview, notice);
    },
    { sensitive: true },
  );
}

const said = ({ form }: PageContext, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, (form.get(name) ?? "").trim()]));

async function everybody(
  { clock }: ConsoleDependencies,
  visit: PageContext,
  refused?: PageRefusal,
): Promise<ConsoleAnswer> {
  const page = { title: "Members", ...(refused ? { status: refused.status } : {}) };
  if (!visit.may("read:members")) return shown({ ...page, main: ownMembership(visit, refused) });
  const now = clock.now().toISOString();
  return shown({ ...page, main: membersPage(visit, { members: await allMembers(visit), now, refused }) });
}

function inviting(visit: PageContext, refused?: PageRefusal): ConsoleAnswer {
  if (!visit.may("write:members")) throw notYours();
  const main = invitePage(visit, { given: visit.form, refused, once: randomUUID() });
  return shown({ title: "Invite somebody", main, ...(refused ? { status: refused.status } : {}) });
}

async function changing(visit: PageContext, refused?: PageRefusal): Promise<ConsoleAnswer> {
  if (refused?.code === "not_found") throw noSuchMember();
  if (!visit.may("write:members")) throw notYours();
  const member = (await allMembers(visit)).find(({ id }) => id === visit.params.id);
  if (!member) throw noSuchMember();
  if (!mayChange(visit, member)) throw notYours();
  const main = changePage(visit, { member, refused });
  return shown({ title: "Change a member", main, ...(refused ? { status: refused.status } : {}) });
}

/** Lets any member leave the workspace. No route is called, because it needs no scope. */
async function leave(deps: ConsoleDependencies, visit: PageContext): Promise<ConsoleAnswer> {
  const { principal, request } = visit;
  const { workspaceId, memberId: id } = principal;
  const { cause } = callerFrom(principal, { request, callId: randomUUID() });
  const refused = await visit.attempt(async () => {
    const { position, endedSessions } = await removeMember(deps, { workspaceId, memberId: id }, cause);
    const others = endedSessions.filter((session) => session !== principal.id);
    await requireDrained(deps.revocation, others, { id, exclude: cause.correlationId });
    await deps.readAfter(position, id, ["members"]);
  });
  return refused ? everybody(deps, visit, refused) : seeOther("/workspaces");
}

/** All members; a workspace has at most 200. */
async function allMembers(visit: PageContext): Promise<ShownMember[]> {
  const members: ShownMember[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await visit.ask("GET /v1/members", { query: { limit: 100, cursor } });
    members.push(...page.data);
    cursor = page.next_cursor;
  } while (cursor);
  return members;
}

const noSuchMember = (): Rejected => new Rejected("not_found", "no such member");

const notYours = (): Rejected =>
  new Rejected("insufficient_scope", "your role in this workspace does not allow this: ask an owner");
