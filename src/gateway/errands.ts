/**
 * What a call asks its provider to do besides answering: to fetch a page or a picture, to search, to ask somebody's server.
 * The provider would go where whoever asks may not go, with whatever it was told. Told from the structure of a call, never
 * from words; of tools, those are let pass that the program runs itself, and no other kind.
 */
import type { WireName } from './wires.ts';

interface Errand {
  /** For people: `the tool web_fetch`. */
  what: string;
  /** Where it would go, where the call says so. */
  url: string | null;
}

export function errandIn(wire: WireName, call: unknown): Errand | null {
  const body = isObject(call) ? call : {};
  return FIND[wire](body);
}

type Fields = Record<string, unknown>;

const FIND: Record<WireName, (body: Fields) => Errand | null> = {
  messages: (body) =>
    bySetting(body) ??
    serversIn(body.mcp_servers) ??
    firstOf(listOf(body.tools), ({ type }) => foreign(type, MESSAGES_TOOLS)) ??
    anywhere(
      [body.system, body.messages],
      (one) => (one.type === 'url' && typeof one.url === 'string' ? source(one.url) : null),
      (one, name) => name === 'input' && /tool_use$/.test(String(one.type)),
    ),
  responses: (body) =>
    bySetting(body) ??
    responsesTools(body.tools) ??
    anywhere(
      [body.input, body.prompt],
      (one) =>
        responsesTools(one.tools) ??
        linkIn(one.image_url) ??
        linkIn(one.file_url) ??
        (typeof one.server_url === 'string' ? source(one.server_url) : null),
    ),
  chat: (body) =>
    bySetting(body) ??
    firstOf(listOf(body.tools), ({ type }) => foreign(type, CHAT_TOOLS)) ??
    anywhere(
      [body.messages],
      (one) =>
        Object.entries(one)
          .map(([name, value]) => (LINKS.test(name) ? linkIn(value) : null))
          .find(isFound) ?? null,
    ),
  generate: (body) =>
    firstOf(listOf(body.tools), (one) => {
      const other = Object.keys(one).find((name) => !/^function_?declarations$/i.test(name));
      return other === undefined ? null : tool(other);
    }) ??
    anywhere(
      [body.contents, body.systemInstruction, body.system_instruction],
      (one) => {
        const uri = one.fileUri ?? one.file_uri;
        return uri === undefined ? null : source(String(uri));
      },
      (_, name) => name === 'args' || name === 'response',
    ),
};

const MESSAGES_TOOLS = /^(custom|(bash|text_editor|computer|memory|tool_search_tool(_regex|_bm25)?)(_\d+)?)$/;
const RESPONSES_TOOLS =
  /^(function|custom|local_shell|shell|apply_patch|namespace|tool_search|image_generation|computer(_use_preview)?)$/;
const CHAT_TOOLS = /^(function|custom)$/;
const LINKS = /_ur[il]$|^(image|video|audio|file_data)$/;

/** As OpenAI, xAI, OpenRouter, DashScope, Venice and Cohere have them. */
const SETTINGS = /search|brows|plugins|connectors|grounding/i;
/** Models that search unasked: OpenAI's, OpenRouter's of that variant, Groq's, Perplexity's. */
const SEARCHING = /-search(-|$)|[:-]online(:|$)|(^|\/)(compound|sonar)(-|:|$)|-sonar-|deep-research/i;

/** A setting of the whole call, or one among those of a provider's own; and the model, with those that may take its place. */
function bySetting(body: Fields): Errand | null {
  const groups = Object.entries(body).flatMap(([name, value]) =>
    isObject(value) && !PROGRAMS_OWN.test(name) ? [value] : [],
  );
  const names = [body, ...groups].flatMap((one) => Object.keys(one).filter((name) => isGiven(one[name])));
  const setting = names.find((name) => SETTINGS.test(name));
  if (setting !== undefined) return tool(setting);
  const model = [body.model, body.models].flat().find((one) => SEARCHING.test(String(one)));
  return model === undefined ? null : { what: `the model ${String(model).slice(0, 100)}`, url: null };
}

/** What it says there is its own affair. */
const PROGRAMS_OWN = /metadata$|^(response_format|text|output_config|logit_bias)$/;

/** A shell may be the provider's own machine; a namespace holds tools. */
function responsesTools(given: unknown): Errand | null {
  return firstOf(listOf(given), ({ type, environment, tools, input_image_mask: mask }) => {
    const isHosted = type === 'shell' && isObject(environment) && environment.type !== 'local';
    const link = isObject(mask) ? linkIn(mask.image_url) : null;
    return foreign(type, RESPONSES_TOOLS) ?? link ?? (isHosted ? tool('shell') : responsesTools(tools));
  });
}

/** A tool that names no kind is the program's own. */
const foreign = (type: unknown, own: RegExp): Errand | null =>
  type === undefined || type === null || own.test(String(type)) ? null : tool(String(type));

function serversIn(given: unknown): Errand | null {
  if (!isGiven(given)) return null;
  const url = listOf(given)
    .map((one) => one.url)
    .find((one) => typeof one === 'string');
  return { what: 'an MCP server of the provider’s', url: url ?? null };
}

/** `{ url }` or the url itself; what is given whole is no link. */
function linkIn(given: unknown): Errand | null {
  const url = isObject(given) ? given.url : given;
  return typeof url === 'string' && /^\s*[a-z][a-z\d+.-]*:/i.test(url) && !/^\s*data:/i.test(url)
    ? source(url)
    : null;
}

const tool = (name: string): Errand => ({ what: `the tool ${name.slice(0, 100)}`, url: null });
const source = (url: string): Errand => ({ what: 'something by its address', url: url.slice(0, 2000) });

/** `isFree`: objects of models and programs, which mean nothing to the provider. */
function anywhere(
  given: unknown,
  look: (one: Fields) => Errand | null,
  isFree: (one: Fields, name: string) => boolean = () => false,
): Errand | null {
  if (Array.isArray(given)) {
    for (const one of given) {
      const found = anywhere(one, look, isFree);
      if (found) return found;
    }
    return null;
  }
  if (!isObject(given)) return null;
  const inner = Object.entries(given).filter(([name]) => !isFree(given, name));
  return (
    look(given) ??
    anywhere(
      inner.map(([, value]) => value),
      look,
      isFree,
    )
  );
}

const firstOf = (list: readonly Fields[], look: (one: Fields) => Errand | null): Errand | null =>
  list.map(look).find(isFound) ?? null;

const isFound = (errand: Errand | null): errand is Errand => errand !== null;

const isObject = (given: unknown): given is Fields =>
  typeof given === 'object' && given !== null && !Array.isArray(given);

/** Gemini takes one for a list of one. */
const listOf = (given: unknown): Fields[] => (Array.isArray(given) ? given : [given]).filter(isObject);

const isGiven = (given: unknown): boolean =>
  given !== undefined && given !== null && given !== false && !(Array.isArray(given) && given.length === 0);
