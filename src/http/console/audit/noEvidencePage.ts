import { asSentence } from "#src/html/asSentence.ts";
import { html } from "#src/html/html.ts";
import type { WireDraft } from "../../present/drafts.ts";
import type { ConsolePage } from "../framework/page.ts";
import type { PageRefusal } from "../framework/pageContext.ts";

/** Shown in place of a download of evidence that was refused. */
export const noEvidencePage = ({ id }: Pick<WireDraft, "id">, refused: PageRefusal | undefined): ConsolePage => ({
  title: "There is no evidence now",
  status: refused?.status ?? 500,
  main: html`<h1>There is no evidence now</h1>
<p class="alert card" role="alert">${asSentence(refused?.message ?? "")}</p>
<p><a class="press" href="/drafts/${id}">Back to the draft</a> <a class="press" href="/audit/heads">Signed heads</a></p>`,
});
