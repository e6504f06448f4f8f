import { auditTreeOf } from "#projections/auditTree/queries.ts";
import { Rejected } from "#streams/decider.ts";
import type { Answers } from "../../routes.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import { type ConsoleRoute, consolePage, download, shown } from "../framework/page.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { pageLinksFrom } from "../framework/pageLinks.ts";
import { exportPage } from "./exportPage.ts";
import { exportFile, exportView } from "./exports.ts";
import { type Filters, type FindView, filterNames, findPage } from "./findPage.ts";
import { type HeadsView, headsPage } from "./headsPage.ts";

/** Pages for auditors: find a draft's history; the signed heads that prove it; exports. */
export const auditPages = (deps: ConsoleDependencies): ConsoleRoute[] => [
  consolePage("GET /audit", async (context) => {
    requireAudit(context);
    const view = await findView(context);
    const status = view.refused && { status: view.refused.status };
    return shown({ title: "Audit", main: findPage(context, view), wide: true, ...status });
  }),
  consolePage("GET /audit/heads", async (context) => {
    requireAudit(context);
    return shown({ title: "Signed heads", main: headsPage(context, await headsView(deps, context)) });
  }),
  consolePage("GET /audit/export", async (context) => {
    requireAudit(context);
    const view = await exportView(context);
    const status = view.refused && { status: view.refused.status };
    return shown({ title: "Export proven events", main: exportPage(view), ...status });
  }),
  consolePage("GET /audit/export/file", async (context) => {
    requireAudit(context);
    return download(await exportFile(context));
  }),
];

function requireAudit({ may, principal }: PageContext): void {
  if (may("read:audit")) return;
  throw new Rejected(
    "insufficient_scope",
    `your role in this workspace (${principal.role}) does not allow you to read histories: owners, admins and auditors can`,
  );
}

const pageSize = 40;

async function findView(context: PageContext): Promise<FindView> {
  const { query } = context;
  const filters = filtersIn(query);
  let found: Answers["GET /v1/drafts"] | undefined;
  const refused = await context.attempt(async () => {
    found = await context.ask("GET /v1/drafts", {
      query: { ...filters, limit: pageSize, cursor: query.get("cursor") },
    });
  });
  const next = found?.next_cursor ?? null;
  const links = pageLinksFrom("/audit", { query, next, kept: new URLSearchParams(filters as Record<string, string>) });
  return { filters, found, refused, links };
}

const filtersIn = (query: URLSearchParams): Filters =>
  Object.fromEntries(
    filterNames.map((name) => [name, query.get(name)?.trim() ?? ""]).filter(([, value]) => value !== ""),
  );

/** The newest head is that of the first page, whatever page of the list is shown. */
async function headsView(deps: ConsoleDependencies, context: PageContext): Promise<HeadsView> {
  const { workspaceId } = context.principal;
  const ask = (query: Record<string, string | number | null>) => context.ask("GET /v1/audit/heads", { query });
  const [heads, first, signed, tree] = await Promise.all([
    ask({ limit: pageSize, cursor: context.query.get("cursor") }),
    ask({ limit: 1 }),
    deps.auditHeads.newest(workspaceId),
    auditTreeOf(deps.reads, workspaceId),
  ]);
  const [newest] = first.data;
  return {
    ...{ heads, newest, workspaceId },
    contradicted: Boolean(signed?.contradictedAt),
    unsigned: Math.max(0, (tree?.size ?? 0) - (newest?.size ?? 0)),
    links: pageLinksFrom("/audit/heads", {
      query: context.query,
      next: heads.next_cursor,
      kept: new URLSearchParams(),
    }),
    publicUrl: deps.settings.publicUrl.replace(/\/$/, ""),
  };
}
