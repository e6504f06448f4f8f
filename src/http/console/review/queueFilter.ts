import { warningWords } from "#src/channels/warningWords.ts";
import { counted } from "#src/html/counted.ts";
import { choice, type SelectOption } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import { listedWarnings } from "#streams/draft/warnings.ts";
import { priorityWords } from "../threads/threadWords.ts";
import type { ListedQueue } from "./queueList.ts";
import { assignedChoices, priorities, type ReviewQuery, waitingHours } from "./reviewQuery.ts";

/** The form that narrows the queue to an identity, a priority, a waiting time, a warning or who has taken them. It names the choices that apply now. */
export function queueFilter({ identities }: Pick<ListedQueue, "identities">, place: ReviewQuery): Markup {
  const choices = {
    identity: identities.map(({ id, name, address, count }) => [id, `${shortLine(name || address, 60)} (${count})`]),
    priority: priorities.map((priority) => [priority, priorityWords[priority]]),
    hours: waitingHours.map((hours) => [
      String(hours),
      `${hours < 48 ? counted(hours, "hour") : counted(hours / 24, "day")} or longer`,
    ]),
    warning: listedWarnings.map((kind) => [kind, warningWords[kind]]),
    assigned: assignedChoices.map((each) => [each, each === "mine" ? "Mine" : "Nobody's"]),
  };
  const labels = {
    ...{ identity: "Identity", priority: "Priority", hours: "Waiting" },
    ...{ warning: "Warning", assigned: "Taken by" },
  };
  const names = Object.keys(labels) as (keyof typeof labels)[];
  const chosen = names.flatMap((name) => {
    const value = place[name];
    if (value === undefined) return [];
    return [choices[name].find(([each]) => each === String(value))?.[1] ?? labels[name]];
  });
  return html`<details class="narrow"><summary>${chosen.length === 0 ? "Filter" : html`Filter: <bdi>${chosen.join(", ")}</bdi>`}</summary>
<form method="get" action="/review" aria-label="Filter the drafts">
${names.map((name) => choice({ name, id: `only-${name}`, label: labels[name], required: true, value: String(place[name] ?? ""), choices: [{ value: "", label: "All" }, ...choices[name].map(asChoice)] }))}
<div class="buttons"><button class="button plain">Show</button>${chosen.length > 0 && html` <a class="press" href="/review">Show all</a>`}</div>
</form></details>`;
}

const asChoice = ([value = "", label = ""]: string[]): SelectOption => ({ value, label });
