import { putAsideById } from "#projections/inbound/queries.ts";
import { named } from "#src/channels/card/names.ts";
import { asSentence } from "#src/html/asSentence.ts";
import { html, type MarkupValue } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import type { ConsoleDependencies } from "../../dependencies.ts";
import {
  type ConsoleAnswer,
  type ConsoleRoute,
  consoleForm,
  consolePage,
  download,
  seeOther,
} from "../../framework/page.ts";
import type { PageContext, PageRefusal } from "../../framework/pageContext.ts";
import { asidePage } from "./page.ts";
import { asidePath } from "./path.ts";

/** The list of mail that was put aside, and the form that files one as a message. */
export const asidePages = (deps: ConsoleDependencies): ConsoleRoute[] => [
  consolePage("GET /review/aside", (context) => asidePage(deps, context)),
  consoleForm("POST /review/aside/:id/file", (context) => fileAsMessage(deps, context)),
  consolePage("GET /review/aside/:id/raw", async (context) =>
    download(await context.askRaw("GET /v1/inbound/:id/raw", { params: context.params })),
  ),
];

async function fileAsMessage(deps: ConsoleDependencies, context: PageContext): Promise<ConsoleAnswer> {
  const id = context.params.id as string;
  const refused = await context.attempt(() => context.ask("POST /v1/inbound/:id/file", { params: { id } }));
  if (!refused) return seeOther(`${asidePath("", context.query)}#mail-${id}`, "filedAsMessage");
  const sentence = await sentenceOf(deps, context, { id, refused });
  return asidePage(deps, context, { sentence, status: refused.status });
}

/** Explains why nothing was filed: if somebody was faster, who that was. */
async function sentenceOf(
  { reads, store, projected }: ConsoleDependencies,
  context: PageContext,
  { id, refused }: { id: string; refused: PageRefusal },
): Promise<MarkupValue> {
  if (refused.code !== "invalid_status") return asSentence(refused.message);
  // The first press may have been recorded a moment ago: wait for the read model.
  await projected(await store.head(), { of: ["inbound"] });
  const filed = (await putAsideById(reads, context.principal.workspaceId, id))?.filed_by;
  if (!filed) return asSentence(refused.message);
  return html`${named(filed.name ?? filed.id)} has already filed this mail as a message, ${when(context, filed.at)}.`;
}
