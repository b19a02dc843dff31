/** Loaded into forge-loop with `node --import`: each request it makes, and GitHub's words where it was refused, as a line. */
import { appendFileSync } from 'node:fs';

const file = process.env.FORGE_LIVE_REQUESTS;
const send = globalThis.fetch;

if (file)
  globalThis.fetch = async (input, init) => {
    const { pathname, search } = new URL(input instanceof Request ? input.url : input);
    const answer = await send(input, init);
    const line = {
      method: init?.method ?? 'GET',
      path: pathname + search,
      status: answer.status,
      said: await refusalIn(answer),
    };
    appendFileSync(file, `${JSON.stringify(line)}\n`);
    return answer;
  };

/** Of an answer that is a refusal, or an answer to a query that holds some; null for all others. */
async function refusalIn(answer) {
  const isQuery = new URL(answer.url).pathname.endsWith('/graphql');
  if (answer.status < 400 && !isQuery) return null;
  const text = await answer.clone().text();
  try {
    const { message, errors = [] } = JSON.parse(text);
    const said = [message, ...errors.map((one) => one.message ?? JSON.stringify(one))].filter(Boolean);
    const right = answer.status === 403 && answer.headers.get('x-accepted-github-permissions');
    return said.length > 0 ? said.join(': ') + (right ? ` (it needs ${right})` : '') : null;
  } catch {
    return answer.status < 400 ? null : text.slice(0, 300);
  }
}
