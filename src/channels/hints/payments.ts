import { type HintRule, words } from "./rule.ts";

const account =
  "(?:bank(?:ing)?(?: account)?|account|payment|iban|wire(?: transfer)?|wiring|remittance|ach|swift|direct deposit|payroll|beneficiary)";
const details = "(?:accounts?|details|information|info|instructions?|data|coordinates|numbers?|iban|bank)";

/** Matches a request to send money to a new destination. */
export const changedPayments: readonly HintRule[] = [
  {
    all: [
      new RegExp(
        `\\b(?:new|changed|different|updated|revised|amended|alternative|corrected) (?:\\S{1,12} )?(?:(?:bank(?:ing)?|payment|wire|wiring|remittance|ach|payroll|beneficiary|direct deposit) (?:account |transfer )?${details}|iban|bank)\\b`,
        "i",
      ),
    ],
    not: /\b(?:new (?:payment )?(?:account|data|information) (?:is|was) available|world bank|data ?bank|west bank|food bank|memory bank|bank holiday|new bank (?:of|robbery|notes?)|banking (?:system|software|law))\b/i,
  },
  {
    all: [
      new RegExp(
        `\\b(?:our|my|the company'?s?|supplier'?s?|vendor'?s?|the(?= (?:beneficiary|remittance|bank(?:ing)? |iban))) (?:\\S{1,12} )?${account}(?: (?:account|transfer))? ?${details}? (?:has|have|had|was|were|is|are)(?: recently| now| just| being)? (?:been )?(?:changed|updated|moved|switched|replaced|modified)\\b`,
        "i",
      ),
    ],
    not: /\b(?:account (?:has|was) been updated|your account)\b/i,
  },
  {
    all: [
      new RegExp(
        `\\b(?:we|i)(?:'ve|'re| have| had| are)?(?: recently| just| now| also)? (?:chang(?:ed|ing)|switch(?:ed|ing)|moved|updat(?:ed|ing)) (?:\\S{1,12} ){0,3}(?:banks?|banking|bank account|(?:payment|wire|wiring|remittance|ach|payroll|beneficiary|direct deposit) ${details})\\b`,
        "i",
      ),
    ],
  },
  {
    all: [
      new RegExp(
        `\\b(?:change|update|amend|switch|modify)(?:d|s)? (?:\\S{1,12} ){0,3}(?:bank(?:ing)?|direct deposit|payroll|remittance|wire|wiring|beneficiary) (?:account |transfer )?(?:${details}|on file)\\b`,
        "i",
      ),
    ],
  },
  {
    all: [
      new RegExp(
        `\\bchanges? (?:of|to|in) (?:our |my |the )?(?:bank|banking|remittance|beneficiary|wire) ?(?:account )?${details}?\\b`,
        "i",
      ),
    ],
    not: /\bchange (?:of|to|in) the bank\b/i,
  },
  {
    all: [
      /\b(?:pay|payments?|invoices?|salary|funds|money|transfer|send|wire|remit|direct|redirect|settle|make|deposit|forward)\b/i,
      /\b(?:to|into|on) (?:the|this|our|my|an?) (?:following|new|other|different|alternative|alternate|below|updated|subsidiary'?s?|sister|parent|overseas|offshore|partner'?s?|personal) (?:\S{1,15} )?(?:bank )?(?:account|iban|beneficiary|details)\b|\b(?:bank|account|payment) details below\b/i,
    ],
  },
  {
    all: [
      /\b(?:old|previous|former|current|usual|existing|regular|normal|main) (?:bank )?account\b/i,
      /\b(?:clos(?:ed|ing)|frozen|blocked|under audit|audited|not (?:be )?used?|(?:cannot|can't|can not|unable to) receive|no longer|unavailable|inactive|suspended)\b/i,
      /\b(?:pay(?:ment|ments)?|invoices?|transfers?|funds|wires?|remittances?)\b/i,
    ],
  },
  {
    all: [
      /\b(?:do not|don't|no longer|stop|please hold)\b/i,
      /\b(?:pay(?:ments?|ing)?|transfers?|wires?)\b/i,
      /\b(?:old|previous|former) (?:bank )?(?:account|details|iban)\b/i,
    ],
  },
  {
    all: [
      /\b(?:disregard|ignore|do not use|don't use) (?:\S{1,12} ){0,3}(?:bank )?(?:account|iban|bank details)\b/i,
      /\b(?:invoice|below|instead|new|following|attached|payments?|use)\b/i,
    ],
  },
  {
    all: [
      /\b(?:opened|have|got) (?:another|a (?:new|different|second)) (?:bank )?account\b/i,
      /\b(?:bank|pay|payments?|salary|send|transfer|invoices?|deposit|wire)\b/i,
    ],
    not: /\b(?:your (?:site|website|web ?site|shop|service|app)|with you)\b/i,
  },
  // An account number together with words of change.
  {
    all: [
      /\b[a-z]{2}\d{2} ?(?:[a-z0-9]{4} ?){2,7}[a-z0-9]{0,4}\b/i,
      /\biban\b/i,
      words(
        "new|now|changed|updated|instead|from now on|neue[nrs]?|geändert|ab sofort|künftig|nouveau|nouvel|désormais|nuev[oa]s?|ahora",
      ),
    ],
  },
  {
    all: [
      words(
        "(?:neue[nrs]?|geänderte[nrs]?|aktualisierte[nrs]?|andere[nrs]?) (?:\\S{1,15} )?(?:bankverbindung|kontoverbindung|iban|kontonummer|bankdaten|kontodaten|bankkonto|zahlungsdaten)",
      ),
    ],
  },
  {
    all: [
      words("bank|bankverbindung|kontoverbindung|iban|kontonummer|bankdaten|kontodaten|bankkonto|zahlungsdaten"),
      words("geändert|gewechselt|ändern|geändert hat|ab sofort|änderung"),
    ],
  },
  {
    all: [
      words("überweisen|überweise|zahlen|überweisung"),
      /\b(?:auf|an) (?:das|unser|mein|ein|folgendes) (?:neue[s]?|folgende|andere[s]?|neues|anderes) (?:\S{1,15} )?konto\b/i,
    ],
  },
  {
    all: [
      /\b(?:nouve(?:au|aux|l|lle|lles)|changement d[eu']|modification d[eu'])/i,
      words("rib|iban|compte bancaire|coordonnées bancaires|domiciliation bancaire"),
    ],
  },
  {
    all: [
      words("coordonnées bancaires|compte bancaire|rib"),
      words("ont changé|a changé|ont été modifiées|a été modifié|avons changé"),
    ],
  },
  {
    all: [
      words("nuev[oa]s?|cambio de|cambiado|modificado|actualizado"),
      words("cuenta bancaria|datos bancarios|iban|número de cuenta|cuenta de banco"),
    ],
  },
];
