import { isUuid } from "#src/commands/ids.ts";
import { endSessions } from "#src/commands/users/signIn.ts";
import { button, form } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import type { Session } from "#src/platform/accounts/sessions.ts";
import { callerOf } from "../../web/linkPages.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import { type ConsoleRoute, consoleForm, consolePage, seeOther, shown } from "../framework/page.ts";
import type { PageContext } from "../framework/pageContext.ts";

/** Sign-ins of a person: everyone can see and end their own only. */
export const sessionRoutes = (deps: ConsoleDependencies): ConsoleRoute[] => {
  const { sessions } = deps.accounts;
  /** Waits until no request under these sessions can have an effect any more. */
  const drained = (ids: readonly string[]) => Promise.all(ids.map((id) => deps.revocation.drain(id, {})));

  return [
    consolePage("GET /settings/sessions", async (context) =>
      shown({
        title: "Where you are signed in",
        main: sessionsPage(context, await sessions.list(context.principal.user.id)),
      }),
    ),

    consoleForm("POST /settings/sessions/:id/end", async (context) => {
      const { id = "" } = context.params;
      // The session has ended, belongs to another person, or was renewed under another id: show the current list.
      if (!isUuid(id) || !(await sessions.end(context.principal.user.id, id)))
        return seeOther("/settings/sessions", "session_not_found");
      await drained([id]);
      return seeOther("/settings/sessions", "session_ended");
    }),

    consoleForm("POST /settings/sessions/end-others", async (context) => {
      const { id: except, user } = context.principal;
      const person = { userId: user.id, email: user.email, name: user.name, disabled: false };
      await drained(await endSessions(deps, { person, because: "asked", except }, callerOf(context.request)));
      return seeOther("/settings/sessions", "sessions_ended");
    }),
  ];
};

const sessionsPage = (
  context: PageContext,
  sessions: readonly Session[],
): Markup => html`<h1>Where you are signed in</h1>
<p>Is there a device that you do not know? Sign it out, and <a href="/settings/profile">change your password</a>.</p>
${sessions.map((session) => sessionCard(context, session))}
${
  sessions.some(({ id }) => id !== context.principal.id) &&
  form(context, { action: "/settings/sessions/end-others" }, button("Sign out all others", { kind: "danger" }))
}`;

function sessionCard(context: PageContext, { id, agent, startedAt, seenAt }: Session): Markup {
  const isThis = id === context.principal.id;
  return html`<section>
<h2>${agent === null ? "An unknown program" : browserOf(agent)}${isThis && html` <span class="mark">this device</span>`}</h2>
<dl>
<dt>Signed in</dt><dd>${when(context, startedAt.toISOString())}</dd>
<dt>Last seen</dt><dd>${when(context, seenAt.toISOString())}</dd>
${agent !== null && html`<dt>Identifies itself as</dt><dd class="soft"><bdi>${agent}</bdi></dd>`}
</dl>
${
  isThis
    ? html`<p class="soft">Use “Sign out” at the top to sign out of this one.</p>`
    : form(
        context,
        {
          action: `/settings/sessions/${id}/end`,
          label: `Sign out ${agent === null ? "a program" : browserOf(agent)}`,
        },
        button("Sign out this device"),
      )
}
</section>`;
}

const browsers: readonly [RegExp, string][] = [
  [/\bEdgA?\//, "Edge"],
  [/\bFirefox\//, "Firefox"],
  [/\bOPR\//, "Opera"],
  [/\bChrom(e|ium)\//, "Chrome"],
  [/\bSafari\//, "Safari"],
];
const systems: readonly [RegExp, string][] = [
  [/\biPhone|\biPad/, "iOS"],
  [/\bAndroid/, "Android"],
  [/\bWindows/, "Windows"],
  [/\bMac OS X/, "macOS"],
  [/\bLinux/, "Linux"],
];

/** The likely browser and system of a user agent. */
function browserOf(agent: string): string {
  const named = (list: readonly [RegExp, string][]) => list.find(([pattern]) => pattern.test(agent))?.[1];
  const [browser, system] = [named(browsers), named(systems)];
  if (browser === undefined) return "Another program";
  return system === undefined ? browser : `${browser} on ${system}`;
}
