import { blankSlate } from "#src/html/blankSlate.ts";
import { area, button, choice, errorSummary, field, switchField } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";

/** A component as pages write it. */
export type Sample = { name: string; use: string; markup: Markup };

export const samples = (): Sample[] => [
  {
    name: "buttons",
    use: "One main action a page, in the colour of approval. What cannot be undone is in red. A link that begins something looks like a button too.",
    markup: html`<div class="buttons">${button("Approve & send", { kind: "approve" })}${button("Edit")}${button("Reject", { kind: "reject" })}${button("Delete this domain", { kind: "danger" })}${button("Sign out", { kind: "quiet" })}<a class="button approve" href="#c-buttons">Create an identity</a><a class="press" href="#c-buttons">Cancel</a></div>`,
  },
  {
    name: "field",
    use: "A label, a hint below it if one is needed, and the input. What may be left empty says so.",
    markup: html`${field({ name: "sample_name", label: "Display name", hint: "Customers see it next to the address in every mail.", required: true })}
${field({ name: "sample_reply_to", label: "Reply-To address" })}`,
  },
  {
    name: "field-with-an-error",
    use: "The sentence stands at the field, once, in words that say what to do.",
    markup: field({
      name: "sample_password",
      label: "Password",
      type: "password",
      hint: "12 characters or more.",
      error: "Expected 12 to 256 characters, so that the password is hard to guess.",
      required: true,
    }),
  },
  {
    name: "longer-text",
    use: "For several lines.",
    markup: area({ name: "sample_text", label: "Signature as plain text", value: "Kind regards\nSupport", rows: 3 }),
  },
  {
    name: "choice",
    use: "One of a few values.",
    markup: choice({
      name: "sample_role",
      label: "Role",
      value: "approver",
      required: true,
      choices: [
        { value: "owner", label: "owner" },
        { value: "approver", label: "approver" },
      ],
    }),
  },
  {
    name: "switch",
    use: "On or off. Its label says what is so when it is on.",
    markup: switchField({
      name: "sample_switch",
      label: "A person has to approve",
      hint: "Only people decide.",
      on: true,
    }),
  },
  {
    name: "fold",
    use: "A part of a form that has a default: the summary says what is set. A part with an error is open.",
    markup: html`<details class="fold"><summary>How a draft is approved<span class="set">one approval, which sends the reply</span></summary>
${field({ name: "sample_approvals", label: "Approvals required", value: "1", inputmode: "numeric" })}</details>`,
  },
  {
    name: "summary-of-errors",
    use: "Above the form that was refused. It leads to the field, or tells the sentence if no field shows it.",
    markup: html`${errorSummary({ message: "this address is used already" })}`,
  },
  {
    name: "notice",
    use: "Once, at the top of the page after a form.",
    markup: html`<p class="notice">Saved.</p>`,
  },
  {
    name: "warnings",
    use: "What a person should know before they decide.",
    markup: html`<div class="card warnings"><ul><li>The sender is not verified. This may be forged.</li></ul></div>`,
  },
  {
    name: "outcome",
    use: "What became of something: good, bad, or still open.",
    markup: html`<div class="card outcome good"><p><strong>Sent</strong></p></div>
<div class="card outcome bad"><p><strong>Rejected</strong></p></div>
<div class="card outcome wait"><p><strong>Waiting for a decision</strong></p></div>`,
  },
  {
    name: "statuses-and-badges",
    use: "A state in its colour and in words: never in colour alone.",
    markup: html`<p><span class="status pending">Waiting for a decision</span> <span class="status sent">Sent</span> <span class="status rejected">Rejected</span> <span class="status">Closed</span> <span class="badge notice">Needs review</span> <span class="badge">Attachment</span> <span class="role">owner</span> <span class="mark">new recipient</span></p>`,
  },
  {
    name: "list-of-cards",
    use: "Things with a name, a few facts, and a page each.",
    markup: html`<ul class="list"><li class="card"><h3><a href="#c-list-of-cards">support@example.com</a></h3><p class="meta">Support · active</p></li></ul>`,
  },
  {
    name: "facts",
    use: "Names and values; one below the other on a phone.",
    markup: html`<dl><dt>From</dt><dd>Blue Lamp</dd><dt>Subject</dt><dd class="subject">The lamp flickers</dd></dl>`,
  },
  {
    name: "table",
    use: "For comparing. It scrolls by itself if it is too wide.",
    markup: html`<div class="scroll" tabindex="0" role="region" aria-label="Sample of a table"><table><thead><tr><th scope="col">Who</th><th scope="col">Role</th></tr></thead>
<tbody><tr><th scope="row">Mina Berg</th><td>owner</td></tr></tbody></table></div>`,
  },
  {
    name: "letter",
    use: "Words of mail, as text. What an edit changed is underlined or struck through, not only coloured.",
    markup: html`<div class="letter">Dear Ada,

your parcel arrives <del>soon</del> <ins>tomorrow</ins>.</div>`,
  },
  {
    name: "code-and-keys",
    use: "What is typed or copied as it is.",
    markup: html`<p><code>read:threads</code> <kbd>a</kbd></p>`,
  },
  {
    name: "empty-list",
    use: "What is missing, and the next step.",
    markup: blankSlate("No identities yet", {
      text: "Create the address that customers write to.",
      action: { path: "#c-empty-list", label: "Create an identity" },
    }),
  },
];
