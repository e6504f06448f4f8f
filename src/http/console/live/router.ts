import { createOpenStreams } from "../../events/openStreams.ts";
import { reply } from "../../framework/reply.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import { type ConsoleRoute, consolePage, download } from "../framework/page.ts";
import { liveStream } from "./liveStream.ts";

/** Maximum number of streams of a session, and of a workspace, on one instance. Each visible page has one stream. */
const maxOfSession = 5;
const maxOfWorkspace = 50;

/** The stream that notifies open pages of changes. */
export function livePages(deps: ConsoleDependencies): ConsoleRoute[] {
  const streams = createOpenStreams(deps);
  return [
    consolePage(
      "GET /console/events",
      async ({ principal, signal }) => {
        const { id, workspaceId } = principal;
        const holders = [
          { name: "this session", id, most: maxOfSession },
          { name: "this workspace", id: workspaceId, most: maxOfWorkspace },
        ];
        return download(
          reply({
            stream: streams.open(holders, (replaced) => liveStream(deps, { workspaceId, signal, replaced })),
            headers: { "Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no" },
          }),
        );
      },
      { events: true },
    ),
  ];
}
