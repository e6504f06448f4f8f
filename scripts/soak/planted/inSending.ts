import type { PlantedBug } from "./bug.ts";

const deliver = (titles: string) => ({ file: "test/processes/deliver.test.ts", titles });

/** Of sending, and of what it rests on. */
export const bugsInSending: readonly PlantedBug[] = [
  {
    breaks: "a queued attempt is not taken back, by whichever attempt that is asked for",
    file: "streams/draft/sending.ts",
    text: "if (draft.attemptId !== null || draft.abandoned",
    becomes: "if (draft.attemptId === command.attemptId || draft.abandoned",
    foundBy: { file: "test/streams/draft.test.ts", titles: "takes back no attempt once it is queued" },
  },
  {
    breaks: "held mail is not copied with every event",
    file: "streams/filing/heldLine.ts",
    text: "return { ...line, count: line.count + 1,",
    becomes: "return { ...line, held: [...(line.held ?? []), revision], count: line.count + 1,",
    foundBy: { file: "test/streams/filing.test.ts", titles: "makes the state no larger" },
  },
  {
    breaks: "the age of a claim does not matter: a queued draft leaves under its own",
    file: "src/processes/deliver.ts",
    text: 'case "none":\n        return begun(',
    becomes:
      'case "none":\n        if (deps.clock.now().getTime() - Date.parse((await deps.store.readLast("draft-" + draftId))!.metadata.at) > 5_000)\n          return again(sending, draft.tries, acting);\n        return begun(',
    foundBy: deliver("lets everything leave that has waited for a minute"),
  },
  {
    breaks: "a connection may take its time, and the age of a claim does not count it",
    file: "src/processes/handOver.ts",
    text: "const connection = await connectUnlessAborted(signal);",
    becomes:
      'const asked = deps.clock.monotonic();\n    const connection = await connectUnlessAborted(signal);\n    if (deps.clock.monotonic() - asked > 5_000) return { noConnection: "provider_unavailable", message: "too old" };',
    foundBy: deliver("s have the mail, once and without another claim"),
  },
  {
    breaks: "thread and inbox are looked at after the connection is there",
    file: "src/processes/handOver.ts",
    text: 'if (look.is === "stale") return { staleBy: look.newMessageId };',
    becomes: "",
    foundBy: deliver("whose customer writes while a connection is opened"),
  },
  {
    breaks: "a draft that is paused is set aside, and polled by no timer",
    file: "src/processes/deliver.ts",
    text: 'if ("setAside" in begun) return begun;',
    becomes:
      'if ("setAside" in begun) {\n      await acting.timers.set({ key: sending.draftId, name: "retry", inMs: 2_000 });\n      return undefined;\n    }',
    foundBy: deliver("sets a draft aside without a timer"),
  },
  {
    breaks: "nothing starts after a pause was answered",
    file: "src/processes/handOver.ts",
    text: "{ ...cause, unlessMoved: standing.guards }",
    becomes: "cause",
    foundBy: deliver("starts nothing once it was answered"),
  },
  {
    breaks: "what may be sent is looked at after connecting too",
    file: "src/processes/handOver.ts",
    text: "      const hindrance = hindranceOf(standing);\n      if (hindrance) return hindrance;\n",
    becomes: "",
    foundBy: deliver("starts nothing once it was answered"),
  },
  {
    breaks: "identities whose mail cannot be filed hardly take up room",
    file: "src/commands/sends/barrier.ts",
    text: "isStuck ? stuckWaitMs : withinMs",
    becomes: "withinMs",
    foundBy: { file: "test/processes/barrier.test.ts", titles: "gives up in bounded time where filing is stuck" },
  },
  {
    breaks: "whose an address is does not depend on read models",
    file: "src/commands/inbound/recipients.ts",
    text: "const { state } = await deps.identities.load(identityId);",
    becomes:
      'const { state } = await deps.identities.load(identityId);\n  const { rows } = await deps.reads.of("").query("select from identities where id = $1", [identityId]);\n  if (rows.length === 0) return undefined;',
    foundBy: { file: "test/commands/inbound/receiveMail.test.ts", titles: "are found by the exact address first" },
  },
  {
    breaks: "a rule reads its thread's state and single messages",
    file: "src/commands/rules/ruleFacts.ts",
    text: "const { state: thread, threadId } = await loadThread(deps, subject.threadId);",
    becomes:
      "const { state: thread, threadId } = await loadThread(deps, subject.threadId);\n  await deps.store.read('thread-' + threadId);",
    foundBy: { file: "test/commands/rules/longThreads.test.ts", titles: "read its state and single messages" },
  },
  {
    breaks: "a hand-over may last as long as the limits of SMTP add up to",
    file: "src/settings.ts",
    text: 'default: 1800,\n    unit: "seconds",\n    description:\n      "How long a whole hand-over',
    becomes: 'default: 90,\n    unit: "seconds",\n    description:\n      "How long a whole hand-over',
    foundBy: { file: "test/config.test.ts", titles: "lets a hand-over take what the limits of SMTP allow" },
  },
  {
    breaks: "planner and read models follow EventStoreDB by one subscription",
    file: "src/compose.ts",
    text: "sharingLog(",
    becomes: "((store) => store)(",
    foundBy: {
      file: "test/eventStore/serviceOnEventStoreDb.test.ts",
      titles: "follows the log by one subscription",
    },
  },
  {
    breaks: "an obstacle is named with the revision at which it was judged",
    file: "src/commands/sends/sendingAllowed.ts",
    text: 'return { state: "sending_paused", guards, obstacles: guards };',
    becomes:
      'return { state: "sending_paused", guards, obstacles: [{ ...ofWorkspace, revision: (await deps.workspaces.load(workspaceId)).revision }, ofIdentity] };',
    foundBy: { file: "test/processes/obstacles.test.ts", titles: "comes to its end" },
  },
  {
    breaks: "what a plan allows is judged again once all is known that may end it",
    file: "src/commands/sends/sendingAllowed.ts",
    text: "if (await identityWorks(deps, { identityId, identity })) return",
    becomes: "if (false as boolean) return",
    foundBy: { file: "test/processes/obstacles.test.ts", titles: "comes to its end" },
  },
];
