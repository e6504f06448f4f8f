import type { Reply } from "../../framework/reply.ts";
import { endOf, startOf } from "../../framework/validation/days.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { type ExportChoice, type ExportView, scopeNames } from "./exportPage.ts";

/** Reads which export the URL asks for, and counts its entries if it asks for that. */
export async function exportView(context: PageContext): Promise<ExportView> {
  const scope = choiceIn(context.query);
  if (context.query.get("count") === null) return { scope, entries: undefined, refused: undefined };
  let entries: number | undefined;
  const refused = await context.attempt(async () => {
    const reply = await askExport(context, scope);
    entries = Number(reply.headers["Audit-Entries"]);
    breakOff(reply);
  });
  return { scope, entries, refused };
}

/** The export that the URL asks for, as a download. */
export const exportFile = (context: PageContext): Promise<Reply> => askExport(context, choiceIn(context.query));

const choiceIn = (query: URLSearchParams): ExportChoice =>
  Object.fromEntries(
    scopeNames.map((name) => [name, query.get(name)?.trim() ?? ""]).filter(([, value]) => value !== ""),
  );

const askExport = (context: PageContext, { from, to, ...about }: ExportChoice): Promise<Reply> =>
  context.askRaw("GET /v1/audit/export", {
    query: { ...about, from: momentOf(from, startOf), to: momentOf(to, endOf) },
  });

/** The moment at which a day begins or ends; what is no day stays as it is, for the route to refuse. */
function momentOf(day: string | undefined, moment: (day: string) => Date): string | undefined {
  const isDay = day !== undefined && /^\d{4}-\d\d-\d\d$/.test(day) && !Number.isNaN(Date.parse(day));
  return isDay ? moment(day).toISOString() : day;
}

/** Ends an export that nobody reads. */
function breakOff({ content }: Reply): void {
  if ("stream" in content) content.stream.destroy();
}
