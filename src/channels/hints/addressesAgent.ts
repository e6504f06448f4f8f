import { type HintRule, words } from "./rule.ts";

/** Words for an AI agent. */
const machine =
  "(?:a\\.?i\\.?|llms?|gpt|chatgpt|claude|gemini|copilot|(?:large )?language model|chat ?bot|artificial intelligence|(?:a\\.?i\\.?|virtual|digital|automated|automatic|email|mail|support|reply) (?:assistant|agent|bot|system|responder|model))";

/** Matches a message that addresses the agent and not a person. */
export const addressesAgent: readonly HintRule[] = [
  // "Ignore all previous instructions": in any of four languages.
  {
    all: [
      /\b(?:ignore|disregard|forget|override|bypass|do not follow|don't follow|stop following|drop) (?:\S{1,15} ){0,4}(?:instructions?|prompts?|guidelines|guidance|directives|programming|system message|training|context above|rules? that|rules (?:above|given)|(?:previous|prior|above|earlier) (?:rules|orders|directions|messages?|context))\b/i,
    ],
    not: /\b(?:assembly|installation|driving|doctor's|washing|cooking|unsubscribe|please ignore (?:this|my|our|the))\b/i,
  },
  {
    all: [
      words(
        "(?:ignorier\\S*|vergiss|vergessen sie|missacht\\S*|befolge nicht|halt\\S* (?:dich|sie sich) nicht an|übergeh\\S*) (?:\\S{1,20} ){0,4}(?:anweisung(?:en)?|instruktion(?:en)?|vorgaben|systemprompt|prompts?|befehle|(?:bisherigen|vorherigen|früheren) regeln)",
      ),
    ],
  },
  {
    all: [
      words("ignore[sz]?|ignorer|oublie[sz]?|ne (?:suis|suivez) pas|ne tiens pas compte|ne tenez pas compte"),
      words("instructions|consignes|directives"),
      words("précédentes?|antérieures?|ci-dessus|reçues|système|toutes"),
    ],
  },
  {
    all: [
      words("ignora|ignore|olvida|olvide|haz caso omiso|haga caso omiso|no sigas|no siga"),
      words("instrucciones|órdenes|indicaciones|directrices"),
      /\b(?:anteriores|previas|de arriba|del sistema|todas)\b/i,
    ],
  },
  // Mentions prompts, or contains the markers of model dialogues.
  {
    all: [/\b(?:system|initial|hidden|original|developer) ?-?prompts?\b|\bsystemprompts?\b/i],
    not: /\b(?:dos|shell|command|login|c:\\) prompt|operating system prompts?/i,
  },
  {
    all: [
      /\b(?:reveal|repeat|print|output|show|disclose|tell me|summari[sz]e) (?:\S{1,15} ){0,3}(?:prompt|instructions you (?:were|have been) given|your (?:system )?instructions|your (?:rules|guidelines))\b/i,
    ],
  },
  {
    all: [
      /<\|?(?:im_start|im_end|system|assistant|endoftext|begin_of_text|start_header_id)\|?>|\[\/?INST\]|<<\/?SYS>>|<\/?(?:system|instructions?|system-?prompt|assistant)>|^#{2,} ?(?:system|instructions?|assistant)\b ?:/i,
    ],
  },
  { all: [/\b(?:tool_calls?|function_calls?|tool_use)\b/i] },
  // Names it as a machine.
  {
    all: [
      new RegExp(
        `(?:^|[,.!:;(\\[*#-] ?)(?:dear|hello|hi|hey|attention|attn\\.?|important|note|message|instructions?|warning|to|for)\\b[ :,]{0,3}(?:(?:to|for|all|any|the|an?|our|your) ){0,3}${machine}\\b(?![ -](?:team|department|conference|research|course|newsletter|company|list|product|tool|solution|project|group|community|lab|news|system for|software))`,
        "i",
      ),
    ],
  },
  {
    all: [
      new RegExp(
        `^(?:the |any |all )?${machine}s? (?:reading|processing|handling|answering) this\\b|^(?:the |any |you, the )?${machine}s? ?[,:] ?(?:please|you|before|when|if|do|don't|answer|reply|respond|ignore|send|approve|include|write|the following)\\b`,
        "i",
      ),
    ],
  },
  {
    all: [
      new RegExp(
        `\\b(?:if|when|since|because|as|while) (?:you(?:'re| are)?|this is|you happen to be|being) ?(?:reading this as )?(?:an? |the )?(?:\\S{1,12} )?${machine}\\b`,
        "i",
      ),
    ],
    not: /\b(?:looking for|using|building|selling|interested|developing|working)\b/i,
  },
  {
    all: [
      new RegExp(
        `\\byou are (?:now |actually |really |no longer )?(?:an? |the )?(?:\\S{1,15} ){0,2}${machine}\\b`,
        "i",
      ),
    ],
  },
  {
    all: [
      new RegExp(
        `\\b(?:any|every|all|the) ${machine}s? (?:\\S{1,12} ){0,4}(?:must|should|shall|has to|have to|is to|are to|needs? to) (?:now |always |also |immediately )?(?:reply|respond|answer|ignore|send|approve|include|forward|write|say|mark|state|confirm|follow|treat)\\b`,
        "i",
      ),
    ],
  },
  {
    all: [
      words("du bist|sie sind|falls du|wenn du|falls sie|wenn sie|an die|an den|an das|hinweis für|achtung"),
      words("ki|künstliche intelligenz|sprachmodell|chatbot|ki-(?:assistent(?:in)?|agent|system|modell)"),
    ],
  },
  {
    all: [
      words("tu es|vous êtes|nouvelles? consignes?|si tu|si vous|à l'attention|note pour|message (?:à|pour)"),
      words(
        "une? (?:ia|intelligence artificielle)|l'ia|pour ia|modèle de langage|agent conversationnel|assistant (?:ia|virtuel|automatique)",
      ),
    ],
  },
  {
    all: [
      words("eres|usted es|si eres|nota para|mensaje para|atención"),
      words("una? (?:ia|inteligencia artificial)|la ia|modelo de lenguaje|asistente (?:de ia|virtual|automático)"),
    ],
  },
  {
    all: [
      /\b(?:developer|debug|admin|god|dan|jailbreak|unrestricted) mode (?:is |has been )?(?:now )?(?:enabled|activated|on\b)|\bdo anything now\b/i,
    ],
  },
  {
    all: [
      /^(?:as the )?(?:assistant|bot|robot) ?[,:] |\b(?:dear|hello|hi|hey) (?:ro)?bot\b|\b(?:whichever|whatever|any|the) (?:model|machine|bot|system|program|assistant) (?:that )?(?:processes|reads|handles|answers|is reading|is processing) this\b/i,
    ],
  },
  {
    all: [
      words(
        "(?:nachricht|hinweis|anweisung|achtung|notiz) ?:? (?:für|an) (?:den|die|das) (?:\\S{1,20} )?(?:assistent\\S*|agent\\S*|bot|modell|automat\\S*)",
      ),
    ],
  },
  // Orders that only a program obeying any text would carry out.
  {
    all: [
      /\b(?:your|the) (?:new|updated|revised|real|actual|true|only) (?:instructions?|task|role|goal|objective|directives?|persona|purpose) (?:is|are|now)\b|\bnew (?:system )?instructions? ?:|\bbegin(?:ning)? (?:of )?(?:new )?(?:system )?instructions\b/i,
    ],
  },
  {
    all: [
      /\b(?:do not|don't|never|without) (?:tell(?:ing)?|inform(?:ing)?|notify(?:ing)?|alert(?:ing)?|mention(?:ing)?|reveal(?:ing)?|show(?:ing)?)\b/i,
      /\b(?:to )?(?:the|your|any) (?:human|user|operator|approver|reviewer|supervisor|person reviewing|reviewing person)s?\b/i,
    ],
  },
  {
    all: [
      /\b(?:skip|bypass|without|no|avoid|circumvent) (?:\S{1,12} ){0,2}(?:human|manual|operator'?s?|approver'?s?) (?:\S{1,12} )?(?:approval|review|oversight|confirmation|check|intervention)\b/i,
    ],
    not: /\b(?:manual review of|pages?|literature|without manual intervention)\b/i,
  },
  {
    all: [
      /\b(?:auto-?approve|approve (?:this|the|your)(?: own)? (?:draft|reply|response)|mark (?:this|the) (?:draft|thread|message|email) as (?:approved|safe|trusted|verified))\b/i,
    ],
  },
  {
    all: [/\b(?:human|approver|reviewer|supervisor|operator) (?:has )?(?:already |pre-?)approved (?:this|the|your)\b/i],
  },
  {
    all: [
      /\b(?:when|while|before|after|once) (?:you )?(?:are )?(?:draft|drafting|generat(?:e|ing)|compos(?:e|ing)) (?:the|this|your|an?) (?:answer|reply|response|draft|email)\b/i,
    ],
  },
  {
    all: [/(?:^|\bplease |\bnow |\bmust |\bshould |, )pretend (?:to be|that you(?:'re| are)|you(?:'re| are))\b/i],
  },
  {
    all: [
      /\b(?:your|the) (?:hidden|secret|internal|initial|original|system) (?:configuration|instructions?|rules|settings|directives?)\b/i,
      /\b(?:your|you|reveal|translate|print|show|ignore)\b/i,
    ],
  },
  {
    all: [
      /\b(?:anyone|anybody|whoever|person|people|human|somebody|someone) (?:who )?(?:reviews?|approves?|checks?|reviewing|approving) (?:your|this|the) (?:answer|reply|response|draft)\b/i,
    ],
  },
  {
    all: [
      /\b(?:print|repeat|output|show|reveal|quote|translate) (?:me )?(?:everything|all (?:the )?(?:text|words|messages?)|the (?:text|words)|what) (?:\S{1,12} ){0,3}(?:above|before)\b/i,
    ],
  },
  {
    all: [
      /\b(?:human|manual) (?:approval|review|oversight) (?:is|has been|was) (?:\S{1,12} )?(?:off|disabled|not (?:needed|required|necessary)|unnecessary|waived|suspended)\b/i,
    ],
  },
  { all: [/\b(?:respond|reply|answer) (?:only )?(?:in|with|as) (?:valid |a )?json\b/i] },
  {
    all: [
      /\b(?:include|insert|add|put|paste) (?:\S{1,20} ){0,6}(?:in|into|to) (?:your|the) (?:draft|rationale|generated (?:reply|response)|output)\b/i,
    ],
  },
];
