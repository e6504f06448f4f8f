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
  consolePage("GET /settings/members", (context) => everybody(deps, context)),

  consolePage("GET /settings/members/invite", async (context) => inviting(context), { sensitive: true }),
  consoleForm(
    "POST /settings/members/invite",
    async (context) => {
      const refused = await context.attempt(() =>
        context.ask("POST /v1/members", { body: said(context, ["email", "role"]) }),
      );
      return refused ? inviting(context, refused) : seeOther(overview, "invited");
    },
    { sensitive: true, once: true },
  ),

  consoleForm("POST /settings/members/leave", (context) => leave(deps, context), { sensitive: true }),

  consolePage("GET /settings/members/:id", async (context) => changing(context), { sensitive: true }),
  change(
    "role",
    (context) => context.ask("PATCH /v1/members/:id", { params: context.params, body: said(context, ["role"]) }),
    {
      notice: "memberChanged",
    },
  ),
  change("resend", (context) => context.ask("POST /v1/members/:id/resend", { params: context.params }), {
    notice: "invited",
  }),
  change("remove", (context) => context.ask("DELETE /v1/members/:id", { params: context.params }), {
    notice: "memberRemoved",
  }),
];

/** A form about one member; if it is refused, the member's page shows why. */
function change(
  what: "role" | "resend" | "remove",
  does: (context: PageContext) => Promise<unknown>,
  { notice }: { notice: Notice },
): ConsoleRoute {
  return consoleForm(
    `POST /settings/members/:id/${what}`,
    async (context) => {
      const refused = await context.attempt(() => does(context));
      return refused ? changing(context, refused) : seeOther(overview, notice);
    },
    { sensitive: true },
  );
}

const said = ({ form }: PageContext, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, (form.get(name) ?? "").trim()]));

async function everybody(
  { clock }: ConsoleDependencies,
  context: PageContext,
  refused?: PageRefusal,
): Promise<ConsoleAnswer> {
  const page = { title: "Members", ...(refused ? { status: refused.status } : {}) };
  if (!context.may("read:members")) return shown({ ...page, main: ownMembership(context, refused) });
  const now = clock.now().toISOString();
  return shown({ ...page, main: membersPage(context, { members: await allMembers(context), now, refused }) });
}

function inviting(context: PageContext, refused?: PageRefusal): ConsoleAnswer {
  if (!context.may("write:members")) throw notYours();
  const main = invitePage(context, { given: context.form, refused, once: randomUUID() });
  return shown({ title: "Invite somebody", main, ...(refused ? { status: refused.status } : {}) });
}

async function changing(context: PageContext, refused?: PageRefusal): Promise<ConsoleAnswer> {
  if (refused?.code === "not_found") throw noSuchMember();
  if (!context.may("write:members")) throw notYours();
  const member = (await allMembers(context)).find(({ id }) => id === context.params.id);
  if (!member) throw noSuchMember();
  if (!mayChange(context, member)) throw notYours();
  const main = changePage(context, { member, refused });
  return shown({ title: "Change a member", main, ...(refused ? { status: refused.status } : {}) });
}

/** Lets any member leave the workspace. No route is called, because it needs no scope. */
async function leave(deps: ConsoleDependencies, context: PageContext): Promise<ConsoleAnswer> {
  const { principal, request } = context;
  const { workspaceId, memberId: id } = principal;
  const { cause } = callerFrom(principal, { request, callId: randomUUID() });
  const refused = await context.attempt(async () => {
    const { position, endedSessions } = await removeMember(deps, { workspaceId, memberId: id }, cause);
    const others = endedSessions.filter((session) => session !== principal.id);
    await requireDrained(deps.revocation, others, { id, exclude: cause.correlationId });
    await deps.readAfter(position, id, ["members"]);
  });
  return refused ? everybody(deps, context, refused) : seeOther("/workspaces");
}

/** All members; a workspace has at most 200. */
async function allMembers(context: PageContext): Promise<ShownMember[]> {
  const members: ShownMember[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await context.ask("GET /v1/members", { query: { limit: 100, cursor } });
    members.push(...page.data);
    cursor = page.next_cursor;
  } while (cursor);
  return members;
}

const noSuchMember = (): Rejected => new Rejected("not_found", "no such member");

const notYours = (): Rejected =>
  new Rejected("insufficient_scope", "your role in this workspace does not allow this: ask an owner");
