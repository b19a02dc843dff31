/**
 * The one place that strikes secrets out of what is said: to logs, events, comments, terminals, whoever reads them.
 *
 * Three things are struck out: what has the shape of a provider's key; what a text itself calls a secret (a header, a
 * password in an address, `TOKEN=…`); and values that are known, whatever they look like. The name stays, the value goes.
 * What is struck out has neither quotes nor backslashes, so JSON stays JSON; and to strike out twice changes nothing.
 */
import { anyOf, KEY_SHAPES, LOOSE_SHAPES } from './secret-shapes.ts';

export type Redact = (text: string) => string;

export interface Redaction {
  text: Redact;
  /** Stricter: whatever is assigned in a command is a value. */
  command: Redact;
}

export const REDACTED = '[redacted]';

/** Of a program's output, of people's and agents' words. `known` is what `knownValues` makes of secrets. */
export function redact(text: string, known: readonly string[] = []): string {
  return [hideCredentials, hideAddresses, hideNamed].reduce(
    (said, hide) => hide(said),
    redactShapes(hideKnown(text, known)),
  );
}

/** Of a command: whatever is assigned to a secret name, or follows such a flag, is one, however short it is. */
export const redactCommand = (command: string, known: readonly string[] = []): string =>
  redact(command, known).replace(CUT_SHORT, REDACTED).replace(ASSIGNED, hideValue).replace(FLAG, hideValue);

/** By what secrets look like alone. */
export const BY_SHAPE: Redaction = { text: (text) => redact(text), command: (text) => redactCommand(text) };

/** Of a text that talks about secrets without having any, such as a prompt: only keys. */
export const redactShapes = (text: string): string => text.replace(ANY_SHAPE, REDACTED);

const ANY_SHAPE = anyOf([...KEY_SHAPES, ...LOOSE_SHAPES]);

/** The same text everywhere in a value, which keeps its form. `command`s are redacted as commands. */
export function redactValue<T>(value: T, say: Redaction, key = ''): T {
  if (typeof value === 'string') return (COMMANDS.has(key) ? say.command(value) : say.text(value)) as T;
  if (Array.isArray(value)) return value.map((one) => redactValue(one, say, key)) as T;
  if (typeof value !== 'object' || value === null || !isPlain(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, redactValue(one, say, name)]),
  ) as T;
}

/** The names of fields that have a command, or who gave it and the command. */
const COMMANDS: ReadonlySet<string> = new Set(['command', 'purpose', 'by']);

const isPlain = (value: object): boolean => {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

/** The forms in which secrets appear: as they are, in JSON, in a URL. The longest first: one may be a part of another. */
export function knownValues(secrets: Iterable<string>): string[] {
  const inUrl = (secret: string): string => (/^[ -~]*$/.test(secret) ? encodeURIComponent(secret) : secret);
  const forms = [...secrets]
    .filter((secret) => secret !== '')
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), inUrl(secret)]);
  return [...new Set(forms)].sort((a, b) => b.length - a.length);
}

const hideKnown = (text: string, known: readonly string[]): string =>
  known.reduce((said, value) => said.replaceAll(value, REDACTED), text);

const NAME =
  '(?:token|secret|password|passwd|passphrase|credentials?|(?:api|access|private|secret|auth)[_-]?key)';
/** What may be one: what JSON or a shell would end it with is left out. */
const PART = '[^\\s"\'\\\\`,;<>(){}[\\]]';
/** In prose a word after a colon is a word: only letters and digits together are taken for a secret. */
const MIXED = `(?=${PART}{0,200}\\d)(?=${PART}{0,200}[A-Za-z])${PART}{8,}`;
const QUOTE = '(?:\\\\*["\'])?';

/** `Authorization: Basic …`, also as a field of JSON; and a bearer's token wherever it is named so. */
const HEADER = new RegExp(
  `(authorization${QUOTE}[ \\t]*[:=][ \\t]*${QUOTE}(?:[A-Za-z]+[ \\t]+)?)(${PART}{8,})`,
  'gi',
);
const BEARER = new RegExp(`(bearer[ \\t]+)(${MIXED})`, 'gi');
const PASSWORD_IN_URL = /(:\/\/[^\s/:@"'\\]{0,200}:)([^\s/@"'\\]{1,400})(?=@)/g;
const TOKEN_IN_URL = /(:\/\/)([A-Za-z0-9_-]{20,400})(?=(?::[\w-]*)?@)/g;
const NAMED = new RegExp(
  `(${NAME}(?:[_-][A-Za-z0-9_-]{1,40})?${QUOTE}[ \\t]{0,3}(?:=>?|:)[ \\t]{0,3}${QUOTE})(${MIXED})`,
  'gi',
);
const NAMED_BY_FLAG = new RegExp(`(--[\\w-]{0,40}${NAME}[\\w-]{0,40}[ =]${QUOTE})(${MIXED})`, 'gi');
/** As an environment has it: whatever follows is a value. */
const IN_ENVIRONMENT = new RegExp(
  `((?:${NAME.toUpperCase()})(?:_[A-Z0-9_]{1,40})?=${QUOTE})(${PART}{6,})`,
  'g',
);

const VALUE = '("[^"]*"|\'[^\']*\'|[^\\s"\'\\\\]+)';
const ASSIGNED = new RegExp(
  `\\b(\\w*(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|API_?KEY|ACCESS_?KEY|CREDENTIAL)\\w*\\s*[=:]\\s*)${VALUE}`,
  'gi',
);
const FLAG = new RegExp(
  `(--[\\w-]{0,60}(?:token|secret|password|passphrase|api-?key|access-?key|credential)[\\w-]{0,60}[ =])${VALUE}`,
  'gi',
);
/** The beginning of a key is enough where nothing but a key begins so. */
const CUT_SHORT = /(?<![A-Za-z0-9])(?:sk-|gh[opsur]_|github_pat_|glpat-|xox[abprs]-|AKIA)[\w-]{8,}/g;

const hideCredentials: Redact = (text) => text.replace(HEADER, hideValue).replace(BEARER, hideValue);
const hideAddresses: Redact = (text) =>
  text.replace(PASSWORD_IN_URL, hideValue).replace(TOKEN_IN_URL, hideValue);
const hideNamed: Redact = (text) =>
  text.replace(IN_ENVIRONMENT, hideValue).replace(NAMED, hideValue).replace(NAMED_BY_FLAG, hideValue);

/** Not a secret, but where it is kept or what stands for it; and a number, which JSON has without quotes. */
const NO_SECRET =
  /^["']?(?:\$|\[redacted\]|\*{3}|held-by-forge-loop-|(?:process\.env|os\.environ|secrets)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$)/;

const hideValue = (whole: string, name: string, value: string): string =>
  NO_SECRET.test(value) ? whole : `${name}${REDACTED}`;
