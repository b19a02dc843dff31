/**
 * Writes openapi.json: of GitHub's description of its REST API what the test server answers, without the words for people.
 * CONTRIBUTING.md says when and how to run it.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const here = new URL('./', import.meta.url);
const whole = JSON.parse(
  readFileSync(new URL('../../../node_modules/@octokit/openapi/generated/api.github.com.json', here), 'utf8'),
);

/** `GET /repos/{}/{}/issues/{}`; what a parameter is called differs from GitHub's names. */
const place = (method, path) => `${method.toUpperCase()} ${path.replace(/\{\w+\}|:\w+/g, '{}')}`;
const answered = new Set([
  'GET /user',
  'GET /repos/{}/{}/installation',
  'POST /app/installations/{}/access_tokens',
]);
for (const file of readdirSync(here).filter((name) => name.endsWith('-routes.ts'))) {
  const source = readFileSync(new URL(file, here), 'utf8');
  for (const [, method, path] of source.matchAll(/\broute\(\s*'([A-Z]+)',\s*'([^']*)'/g))
    answered.add(place(method, `/repos/:owner/:repo${path}`));
}

/** What says nothing about the form of a value. */
const WORDS = new Set(['description', 'title', 'example', 'examples', 'default', 'deprecated', 'x-github']);
const needed = new Map();

/** Everything but words; below `properties` the keys are names. */
function plain(value, areNames = false) {
  if (Array.isArray(value)) return value.map((one) => plain(one));
  if (typeof value !== 'object' || value === null) return value;
  if (typeof value.$ref === 'string' && !areNames) {
    need(value.$ref);
    return { $ref: value.$ref };
  }
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => areNames || !WORDS.has(key))
      .map(([key, one]) => [
        key,
        key === 'enum' && !areNames ? one : plain(one, !areNames && key === 'properties'),
      ]),
  );
}

function need(ref) {
  if (needed.has(ref)) return;
  needed.set(ref, null);
  const [, , kind, name] = ref.split('/');
  const found = whole.components[kind][name];
  needed.set(ref, kind === 'responses' ? body(found) : plain(found));
}

function body(given) {
  if (given.$ref) return plain(given);
  const json = given.content?.['application/json'];
  return json ? { content: { 'application/json': { schema: plain(json.schema) } } } : {};
}

const paths = {};
for (const [path, methods] of Object.entries(whole.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    if (!answered.delete(place(method, path))) continue;
    const { parameters, requestBody, responses } = operation;
    paths[path] ??= {};
    paths[path][method] = {
      ...(parameters ? { parameters: plain(parameters) } : {}),
      ...(requestBody ? { requestBody: body(requestBody) } : {}),
      responses: Object.fromEntries(Object.entries(responses).map(([status, one]) => [status, body(one)])),
    };
  }
}
if (answered.size > 0) throw new Error(`GitHub does not describe ${[...answered].join(', ')}`);
for (const error of ['basic-error', 'validation-error', 'validation-error-simple'])
  need(`#/components/schemas/${error}`);

const components = { parameters: {}, responses: {}, schemas: {} };
for (const [ref, found] of [...needed].sort()) {
  const [, , kind, name] = ref.split('/');
  components[kind][name] = found;
}
writeFileSync(new URL('openapi.json', here), `${JSON.stringify({ paths, components }, null, 1)}\n`);
