import { messageById } from "#projections/messages/queries.ts";
import type { Reply } from "../../framework/reply.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import { type ConsoleRoute, consoleForm, consolePage, download, seeOther, shown } from "../framework/page.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { threadsPage } from "./listPage.ts";
import { threadsView } from "./listView.ts";
import { sourcePage } from "./sourcePage.ts";
import { readerOf, threadPage, threadTitle } from "./threadPage.ts";
import { threadView } from "./threadView.ts";
import { threadAgain, writeReply } from "./writeReply.ts";

/** Pages for conversations: the list, each one with its messages, and downloads of messages. */
export const threadPages = (deps: ConsoleDependencies): ConsoleRoute[] => [
  consolePage("GET /threads", async (visit) => {
    const view = await threadsView(deps, visit);
    return shown({
      title: view.refused ? "Not searched: Conversations" : "Conversations",
      main: threadsPage(view, visit),
      wide: true,
      ...(view.refused && { status: view.refused.status }),
    });
  }),

  consolePage("GET /threads/:id", async (visit) => {
    const view = await threadView(deps, visit);
    return shown({ title: threadTitle(view), main: threadPage(view, readerOf(visit)), wide: true });
  }),

  consoleForm("POST /threads/:id", async (visit) => {
    const { id } = visit.params as { id: string };
    const refused = await visit.attempt(() =>
      visit.ask("PATCH /v1/threads/:id", { params: { id }, body: changesIn(visit) }),
    );
    if (!refused) return seeOther(`/threads/${id}`, "saved");
    return threadAgain(deps, visit, { status: refused.status, changeRefused: refused });
  }),

  consoleForm("POST /threads/:id/reply", (visit) => writeReply(deps, visit), { once: true }),

  consoleForm("POST /threads/:id/undo", async (visit) => {
    const { id } = visit.params as { id: string };
    const draftId = visit.form.get("draft_id") ?? "";
    const refused = await visit.attempt(() => visit.ask("POST /v1/drafts/:id/undo", { params: { id: draftId } }));
    if (!refused) return seeOther(`/threads/${id}`, "replyTakenBack");
    return threadAgain(deps, visit, { status: refused.status, changeRefused: refused });
  }),

  consolePage("GET /messages/:id/source", async (visit) => {
    const { id } = visit.params as { id: string };
    const { content } = await rawOf(visit, id);
    const message = await messageById(deps.reads, visit.principal.workspaceId, id);
    const bytes = "bytes" in content ? content.bytes : Buffer.alloc(0);
    const view = { messageId: id, threadId: message?.thread_id ?? "", subject: message?.subject ?? "", bytes };
    return shown({ title: "Source of a message", main: sourcePage(view), current: "/threads", wide: true });
  }),

  consolePage("GET /messages/:id/raw", async (visit) => download(await rawOf(visit, visit.params.id as string))),

  consolePage("GET /messages/:id/attachments/:attachment_id", async (visit) => {
    const { id, attachment_id } = visit.params as { id: string; attachment_id: string };
    return download(
      await visit.askRaw("GET /v1/messages/:id/attachments/:attachment_id", { params: { id, attachment_id } }),
    );
  }),
];

const rawOf = (visit: PageContext, id: string): Promise<Reply> =>
  visit.askRaw("GET /v1/messages/:id/raw", { params: { id } });

/** The fields in the form; absent ones stay unchanged. */
function changesIn({ form }: PageContext): Record<string, unknown> {
  const review = form.get("needs_review");
  return {
    ...given(form, "status"),
    ...given(form, "priority"),
    ...(review !== null && { needs_review: review === "true" ? true : review === "false" ? false : review }),
  };
}

const given = (form: URLSearchParams, name: string): Record<string, string> => {
  const value = form.get(name);
  return value === null ? {} : { [name]: value };
};
