import type { Static } from "typebox";
import { type Page, pageOfRows } from "#projections/page.ts";
import { listEvaluations } from "#projections/ruleEvaluations/queries.ts";
import { listRules, type RuleFilter, type RuleRow, ruleById } from "#projections/rules/queries.ts";
import { ruleAt, rulesAt } from "#src/commands/asOf/settingsAt.ts";
import { maxTestedEvents, type TriedEvent, tryRule } from "#src/commands/rules/backTest.ts";
import { maskedActions } from "#src/commands/rules/ruleSecrets.ts";
import { createRule, deleteRule, type GivenRule, updateRule, warningsOf } from "#src/commands/rules/rules.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { requireThen, timeAsked } from "./earlierStates.ts";
import { listRoute } from "./framework/lists.ts";
import { route } from "./framework/route.ts";
import { settingsReader } from "./framework/settingsReader.ts";
import { timestamp } from "./present/times.ts";
import { Deleted } from "./schemas/common.ts";
import {
  CreateRule,
  Rule,
  RuleEvaluationList,
  RuleEvaluationQuery,
  RuleList,
  RuleQuery,
  RuleStateQuery,
  RuleTest,
  TestRule,
  UpdateRule,
} from "./schemas/rules.ts";

export function ruleRoutes(deps: HttpDependencies) {
  const find = ({ workspaceId, params }: { workspaceId: string; params: { id: string } }) =>
    ruleById(deps.reads, workspaceId, params.id);

  async function shownAfter(position: number, workspaceId: string, id: string) {
    await deps.readAfter(position, id);
    const row = await ruleById(deps.reads, workspaceId, id);
    return row && shown(deps, row);
  }

  return [
    route(
      "POST /v1/rules",
      {
        scope: "write:rules",
        limit: "write",
        summary: "Create a rule",
        description:
          "Rules run in the background when their trigger event happens, in ascending priority, and each evaluation is recorded. A rule's own actions never trigger it again.",
        body: CreateRule,
        answers: Rule,
        errors: ["validation", "plan_limit_reached", "not_found"],
      },
      async ({ workspaceId, body, cause }) => {
        const { ruleId, position } = await createRule(deps, { workspaceId, given: newRule(body) }, cause);
        return shownAfter(position, workspaceId, ruleId);
      },
    ),

    listRoute(
      "GET /v1/rules",
      {
        scope: "read:rules",
        limit: "read",
        summary: "List rules, in the order in which they are evaluated",
        description: "With `at`: those that existed then, as they were; filters apply to that state.",
        query: RuleQuery,
        answers: RuleList,
        errors: ["insufficient_scope"],
        cursors: deps.cursors,
      },
      async ({ workspaceId, query: { at: asked, ...query }, principal }) => {
        const at = timeAsked(deps, asked, principal);
        const page = at
          ? await listRulesAt(deps, { workspaceId, at, query })
          : await listRules(deps.reads, workspaceId, query);
        return { ...page, data: page.data.map((row) => shown(deps, row)) };
      },
    ),

    route(
      "GET /v1/rules/:id",
      {
        scope: "read:rules",
        limit: "read",
        summary: "Read a rule",
        description: "With `at`: as it was then, also if it has been deleted since.",
        query: RuleStateQuery,
        answers: Rule,
        errors: ["insufficient_scope"],
      },
      async ({ workspaceId, params: { id }, query, principal }) => {
        const at = timeAsked(deps, query.at, principal);
        const row = at
          ? requireThen(await ruleAt(deps, { workspaceId, id, at }), at)
          : await ruleById(deps.reads, workspaceId, id);
        return row && shown(deps, row);
      },
    ),

    route(
      "PATCH /v1/rules/:id",
      {
        scope: "write:rules",
        limit: "write",
        summary: "Change a rule",
        description: "Only the given fields change. Conditions are checked against the resulting trigger_event.",
        body: UpdateRule,
        answers: Rule,
        errors: ["validation"],
        load: find,
      },
      async ({ workspaceId, params, body, cause }) => {
        const update = { workspaceId, ruleId: params.id, changes: settingsOf(body) };
        const { position } = await updateRule(deps, update, cause);
        return shownAfter(position, workspaceId, params.id);
      },
    ),

    route(
      "DELETE /v1/rules/:id",
      { scope: "write:rules", limit: "write", summary: "Delete a rule", answers: Deleted, load: find },
      async ({ workspaceId, params, cause }) => {
        const { position } = await deleteRule(deps, { workspaceId, ruleId: params.id }, cause);
        await deps.readAfter(position, params.id);
        return { id: params.id, deleted: true };
      },
    ),

    listRoute(
      "GET /v1/rules/:id/evaluations",
      {
        scope: "read:rules",
        limit: "read",
        summary: "List a rule's evaluations, newest first",
        description:
          "Each evaluation shows the rule's version, its subject and the outcome of each action. refused: the subject no longer allowed the action. The operator may have old ones removed; total counts those that are left.",
        query: RuleEvaluationQuery,
        answers: RuleEvaluationList,
        cursors: deps.cursors,
        answersFrom: ["rules", "ruleEvaluations"],
        load: find,
      },
      ({ workspaceId, params, query }) =>
        // One snapshot: old runs and their evaluations are removed at any time.
        deps.reads.snapshot(workspaceId, (reads) =>
          listEvaluations(reads, workspaceId, { ruleId: params.id, ...query }),
        ),
    ),

    route(
      "POST /v1/rules/test",
      {
        scope: "read:rules",
        limit: "read",
        summary: "Test a rule on past events",
        description: `Shows what the rule would have done for the newest ${maxTestedEvents} events of its trigger (since \`since\`, if given), or for as many as fit into five seconds, newest first. It changes nothing. Mails and drafts are judged as they were then, the thread's status and the contact as they are now.`,
        body: TestRule,
        answers: RuleTest,
        errors: ["validation", "not_found"],
        answersFrom: ["rules", "feed", "messages", "drafts"],
      },
      async ({ workspaceId, body }) => {
        const since = body.since === undefined ? null : new Date(body.since);
        const { triggerEvent, tried } = await tryRule(deps, { workspaceId, given: newRule(body.rule), since });
        const matched = tried.filter((one) => one.matched).length;
        return { evaluated: tried.length, matched, results: tried.map((one) => shownTry(triggerEvent, one)) };
      },
    ),
  ];
}

/** Lists the rules that existed at a time, in the order in which they were evaluated. */
async function listRulesAt(
  deps: HttpDependencies,
  { workspaceId, at, query }: { workspaceId: string; at: Date; query: RuleFilter },
): Promise<Page<RuleRow>> {
  const { trigger_event = null, status = null } = query;
  const rows = (await rulesAt(deps, workspaceId, at)).filter(
    (row) => (trigger_event ?? row.trigger_event) === row.trigger_event && (status ?? row.status) === row.status,
  );
  return pageOfRows(rows, { keyOf: ({ priority, id }) => [priority, id], direction: "asc", window: query });
}

const settingsOf = settingsReader<GivenRule>({
  name: "name",
  trigger_event: "triggerEvent",
  conditions: "conditions",
  actions: "actions",
  status: "status",
  priority: "priority",
  stop_after_match: "stopAfterMatch",
  identity_id: "identityId",
  assistant_id: "assistantId",
});

const newRule = (body: Static<typeof CreateRule>): GivenRule => ({
  ...{ identityId: null, assistantId: null },
  ...(settingsOf(body) as GivenRule),
});

/** Converts a rule to the contract's form; secrets of its actions are masked. */
const shown = (deps: HttpDependencies, row: RuleRow) => ({
  ...row,
  actions: maskedActions(deps, row.workspace_id, row.actions),
  warnings: warningsOf(row),
});

const shownTry = (triggerEvent: string, { at, subject, matched, actions }: TriedEvent) => ({
  at: timestamp(at),
  trigger_event: triggerEvent,
  identity_id: subject.identityId,
  thread_id: subject.threadId,
  message_id: subject.messageId,
  draft_id: subject.draftId,
  matched,
  actions: actions.map(({ action, suppressed }) => ({
    type: action.type,
    outcome: suppressed === null ? "would_run" : "suppressed",
    reason: suppressed,
  })),
});
