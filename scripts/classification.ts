import { hasCorpus } from "#test/mail/in/mails.ts";
import { archives, classes, classificationFigures, isMachine, percent, rates } from "./support/classification.ts";

/**
 * `npx tsx scripts/classification.ts`: how well persons, lists, automatic replies and bounces are told apart, and bounces matched to their mail, on
 * the collections of real mail beside the repository. Lists each mail that is taken for something else, then the figures.
 */
if (!archives.every(hasCorpus)) {
  console.error(`the collections of mail are not there: ${archives.join(", ")}`);
  process.exit(1);
}
const { mails, matching } = await classificationFigures();
for (const { name, is, taken } of mails) if (is !== taken) console.log(`${is}, taken for ${taken}\t${name}`);
console.log("\n| class | mails | precision | recall |\n|---|---|---|---|");
for (const kind of classes) {
  const { of, precision, recall } = rates(mails, kind);
  console.log(`| ${kind} | ${of} | ${precision} % | ${recall} % |`);
}
const people = mails.filter(({ is }) => !isMachine(is));
const mistaken = people.filter(({ taken }) => isMachine(taken)).length;
const machines = mails.filter(({ is }) => isMachine(is));
const seen = machines.filter(({ taken }) => isMachine(taken)).length;
console.log(`\npersons and lists taken for machines: ${mistaken} of ${people.length}`);
console.log(`machines taken for machines: ${seen} of ${machines.length} (${percent(seen, machines.length)} %)`);
console.log(`bounces matched to their mail: ${matching.found} of ${matching.shown} that show its Message-ID`);
