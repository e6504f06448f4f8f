import { WrongPassword } from "#src/commands/users/passwords.ts";
import { button, errorAt, field, form, withErrorSummary } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { ownPath } from "../../framework/sameOrigin.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import { type ConsoleRoute, consoleForm, consolePage, seeOther, shown } from "../framework/page.ts";
import type { PageContext, PageRefusal } from "../framework/pageContext.ts";

/** The password page before sensitive actions; it redirects to the page that the person wanted. */
export const confirmRoutes = ({ accounts, limits }: ConsoleDependencies): ConsoleRoute[] => [
  consolePage("GET /settings/confirm", async (context) => asked(context, context.query.get("next"))),

  consoleForm("POST /settings/confirm", async (context) => {
    const { id, user } = context.principal;
    const next = context.form.get("next");
    const refused = await context.attempt(async () => {
      await limits.guarding(user.email, context.request, {
        work: async () => {
          if (await accounts.passwords.matches(user.id, context.form.get("password") ?? "")) return;
          throw new WrongPassword("password");
        },
        isWrong: (error) => error instanceof WrongPassword,
      });
    });
    if (refused) return asked(context, next, refused);
    await accounts.sessions.confirmPassword(id);
    return seeOther(ownPath(next) ?? "/settings", "password_confirmed");
  }),
];

const asked = (context: PageContext, next: string | null, refused?: PageRefusal) =>
  shown({
    title: "Confirm your password",
    status: refused?.status ?? 200,
    main: confirmPage(context, ownPath(next), refused),
  });

const confirmPage = (
  context: PageContext,
  next: string | undefined,
  refused: PageRefusal | undefined,
): Markup => html`<h1>Confirm your password</h1>
<p>This is a sensitive action, so we ask for your password again. We won't ask again for 10 minutes.</p>
${withErrorSummary(
  refused,
  form(
    context,
    { action: "/settings/confirm" },
    html`<input type="hidden" name="next" value="${next ?? ""}">
<input type="text" name="username" value="${context.principal.user.email}" autocomplete="username" hidden readonly>`,
    field({
      name: "password",
      label: "Password",
      type: "password",
      autocomplete: "current-password",
      required: true,
      error: errorAt(refused, "password"),
    }),
    button("Continue"),
  ),
)}
<p><a class="press" href="/settings">Back to the settings</a></p>`;
