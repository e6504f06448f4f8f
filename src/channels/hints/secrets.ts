import { type HintRule, words } from "./rule.ts";

/** Things that nobody has a good reason to ask for by mail. */
const english =
  /\b(?:pass ?words?|passcodes?|pass ?phrases?|pin (?:codes?|numbers?)|pins?\b(?= (?:for|of) your)|(?:one-?time|verification|security|access|confirmation|authentication|2fa|mfa|sms|login|unlock|activation) (?:codes?|pass ?codes?)|otp|(?:admin(?:istrator)?|root|server|vpn|mailbox|online banking) (?:logins?|access)|login (?:details|data|information|credentials)|log-?in and password|credentials|api[- ]keys?|access tokens?|secret keys?|private keys?|(?:recovery|seed|backup) (?:phrases?|codes?|keys?)|credit card (?:numbers?|details|information|data)|card (?:numbers?|details)|cvv2?|cvc|expiration date of your card|social security (?:numbers?|no)|ssn|bank (?:account )?(?:details|login|information|numbers?)|account (?:numbers?|credentials)|mother's maiden name)\b/i;
/** Words that ask the reader to hand something over. */
const request =
  /\b(?:(?:please|kindly|must|need(?:s|ed)? (?:you )?to|have to|can you|could you|would you|will you|want you to|required? to|asked? (?:you )?to|urgently|immediately|just|simply|and|to|then|:) ?(?:also |now |first |to |re-?)?(?:send|give|provide|tell|confirm|verify|validate|enter|reply with|respond with|share|forward|supply|update|text|e-?mail|fax|submit|disclose|type|furnish|read out)\b|(?:send|give|tell|e-?mail|text|forward|fax) (?:it|them|me|us)\b|\blet (?:me|us) have\b|^(?:send|give|provide|confirm|verify|validate|enter|reply with|share|supply|update|submit|furnish) |(?:we|i) (?:will |shall |do |'ll )?(?:need|require|want) (?:\S{1,15} ){0,3}your|what(?:'s| is| are) (?:your|the))/i;
/** Words that make a secret the reader's own, or a request that names the secret. */
const yours =
  /\b(?:your|the|you|me|us|full|complete|all|following|customer'?s?|company'?s?) (?:\S{1,18} ){0,6}(?:pass ?words?|passcodes?|pass ?phrases?|pins?\b|codes?|otp|login|log-?in|credentials|api[- ]keys?|tokens?|keys?|phrases?|credit card|card (?:numbers?|details)|cvv2?|cvc|social security|ssn|bank|account|mother's)/i;

/** Matches requests for passwords, codes, card data or the like. */
export const asksForSecrets: readonly HintRule[] = [
  {
    all: [request, english, yours],
    not: /\b(?:never|nobody|don't|do not|should not|will not|won't|forgot|forgotten|lost|reset|unsubscribe|to change your (?:options|subscription|password)|mailing list|(?:we|you|i) (?:have |'ve )?(?:sent|received))\b/i,
  },
  {
    all: [
      /\bcode\b/i,
      /\b(?:text message|sms|authenticator|you (?:just )?(?:got|received)|we (?:just )?sent you)\b/i,
      /\b(?:what (?:is|was|does)|tell|send|give|read|forward|need|share)\b/i,
    ],
    not: /\b(?:never|not|n't|nothing|source)\b|n't\b/i,
  },
  {
    all: [
      /\b(?:send|text|tell|give|read|forward|e-?mail) (?:me|us) (?:the|that|those|your) (?:\S{1,12} ){0,2}(?:digits|pins?|pass ?codes?)\b/i,
    ],
  },
  {
    all: [
      /\b(?:copy|copies|scans?|photos?|pictures?|front and back) of (?:your|the|both) (?:\S{1,12} ){0,2}(?:passport|identity (?:card|document)|id(?: card)?|driv(?:er's|ing) licen[cs]e|bank card|credit card)\b/i,
    ],
  },
  // Gift cards that are as good as cash.
  {
    all: [
      /\b(?:gift ?-?cards?|(?:i-?tunes|apple|google play|steam|amazon|ebay|vanilla|razer gold) cards?|prepaid cards?|vouchers? codes?)\b/i,
      /\b(?:buy|purchase|get|pick up|procure|obtain|order|send|scratch|take (?:a )?(?:pictures?|photos?)|need|redeem|about some|codes? on the back)\b/i,
      /\b(?:for me|i need you|can you|could you|i want you|please|urgent(?:ly)?|discreet(?:ly)?|reimburse[ds]?|scratch|pictures?|photos?|codes?|clients?|surprise|asap|favou?r|available|at your desk|confidential)\b/i,
    ],
    not: /\b(?:win|won|free|claim your|% off|our gift ?cards?|shop|store credit|unsubscribe|lost|balance of)\b/i,
  },
  {
    all: [
      /\b(?:send|forward|export|download|e-?mail|give|provide|share|attach) (?:\S{1,15} ){0,3}(?:(?:full |complete |entire |whole )?(?:customer|client|user|contact|employee|mailing) (?:list|database|data|records)|(?:all|every|the (?:whole|entire|previous|last \d{1,4})) (?:\S{1,15} )?(?:e-?mails?(?! address)|messages|threads|conversations|correspondence)(?: history)?) /i,
      /\b(?:to|me|us|over|here)\b/i,
    ],
    not: /\b(?:unsubscribe|newsletter|spam|subscribe)\b/i,
  },
  {
    all: [
      words(
        "passw(?:ort|örter)|kennw(?:ort|örter)|zugangsdaten|anmeldedaten|login-?daten|(?:sicherheits|bestätigungs|zugangs|sms)-?code|tan(?:-nummer)?|pin(?:-nummer|-code)?|kreditkarten(?:nummer|daten)|prüfziffer|geschenkkarten?|guthabenkarten?",
      ),
      words(
        "senden|sende|schicken|schicke|schick|mitteilen|teilen|teile|bestätigen|bestätige|eingeben|geben|nennen|nenne|übermitteln|antworten|kaufen|kaufe|besorgen|besorge|brauche|brauchen|benötige[n]?",
      ),
      words("sie|mir|uns|bitte|ihr[en]?|dein[en]?"),
    ],
    not: words("niemals|nie|vergessen|zurücksetzen|abmelden"),
  },
  {
    all: [
      words(
        "mots? de passe|identifiants|codes? (?:de (?:sécurité|vérification|confirmation|validation)|secret|pin|reçu)|numéro de (?:votre |la )?carte|coordonnées de (?:votre |la )?carte|cryptogramme|cartes? cadeaux?|coupons? (?:pcs|transcash|neosurf)",
      ),
      words(
        "envoye[rz]|envoie|communique[rz]|donne[rz]?|confirme[rz]?|saisi(?:r|ssez)|fourni(?:r|ssez)|transmet(?:tez|tre)|acheter|achetez|achète|besoin",
      ),
    ],
    not: /\b(?:jamais|oublié|réinitialis\S*)/i,
  },
  {
    all: [
      words(
        "contraseñas?|claves? (?:de acceso|secretas?)|códigos? (?:de (?:seguridad|verificación|confirmación|acceso)|pin)|datos de (?:acceso|su tarjeta|la tarjeta|tu tarjeta)|número de (?:su |la |tu )?tarjeta|tarjetas? de regalo",
      ),
      words(
        "env[ií]e(?:n|nos|me)?|envía(?:me|nos)?|mand[ae](?:me|nos)?|facilit[ae](?:nos|me)?|confirm[ae](?:r)?|introdu(?:zca|ce)|proporcion[ae](?:nos|me)?|compr[ae](?:r)?|necesit(?:o|amos)|dig[ae](?:me|nos)?",
      ),
    ],
    not: /\b(?:nunca|olvid\S*|restablec\S*)/i,
  },
];
