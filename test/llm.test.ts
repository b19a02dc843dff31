/** The scripted model itself: a test that leans on it must know what it leans on. */
import { afterEach, describe, expect, test } from 'vitest';
import { automaticSegments, promptCache, type Segment, TTL_MS } from './support/llm/prompt-cache.ts';
import { ANSWERED } from './support/llm/provider-errors.ts';
import { type Scenario, scenarioFile, scriptOf } from './support/llm/scenario.ts';
import { type Llm, startLlm } from './support/llm/server.ts';

describe('a prompt cache', () => {
  const long = (text: string): Segment => ({ text: text.repeat(4000), breakpoint: true });
  const cache = () => {
    let now = 0;
    const kept = promptCache(() => now);
    const later = (ms: number) => {
      now += ms;
    };
    return { charge: kept.charge, later };
  };

  test('writes at its breakpoint, reads what is the same byte for byte, charges the rest', () => {
    const { charge } = cache();
    const tail = { text: 'what now?', breakpoint: false };
    expect(charge('m', [long('a'), long('b'), tail])).toEqual({ input: 3, cacheRead: 0, cacheWrite: 2000 });
    expect(charge('m', [long('a'), long('b'), tail])).toEqual({ input: 3, cacheRead: 2000, cacheWrite: 0 });
    expect(charge('m', [long('a'), long('b'), long('c')])).toMatchObject({
      cacheRead: 2000,
      cacheWrite: 1000,
    });
  });

  test('a prefix that differs in one byte, or another model, reads nothing', () => {
    const { charge } = cache();
    charge('m', [long('ab')]);
    expect(charge('m', [{ text: `X${'ab'.repeat(4000).slice(1)}`, breakpoint: true }]).cacheRead).toBe(0);
    expect(charge('n', [long('ab')]).cacheRead).toBe(0);
    expect(charge('m', [long('ab')]).cacheRead).toBe(2000);
  });

  test('forgets after five minutes without use, and every use begins them anew', () => {
    const { charge, later } = cache();
    charge('m', [long('ab')]);
    later(TTL_MS - 1);
    expect(charge('m', [long('ab')]).cacheRead).toBe(2000);
    later(TTL_MS - 1);
    expect(charge('m', [long('ab')]).cacheRead).toBe(2000);
    later(TTL_MS);
    expect(charge('m', [long('ab')])).toMatchObject({ cacheRead: 0, cacheWrite: 2000 });
  });

  test('short prefixes are not kept', () => {
    const { charge } = cache();
    const short = [{ text: 'x'.repeat(400), breakpoint: true }];
    expect(charge('m', short)).toEqual({ input: 100, cacheRead: 0, cacheWrite: 0 });
    expect(charge('m', short).cacheRead).toBe(0);
  });

  test('without breakpoints every whole piece is one', () => {
    const { charge } = cache();
    const text = 'abcd'.repeat(2000);
    charge('m', automaticSegments(text));
    expect(charge('m', automaticSegments(`${text}more`)).cacheRead).toBe(1920);
    expect(charge('m', automaticSegments(`z${text}`)).cacheRead).toBe(0);
  });

  test('what was sent with another key lies on another server', () => {
    const { charge } = cache();
    charge('m', [long('ab')], 'one thread');
    expect(charge('m', [long('ab')], 'another').cacheRead).toBe(0);
    expect(charge('m', [long('ab')], 'one thread').cacheRead).toBe(2000);
  });
});

describe('a script', () => {
  const asked = (text: string) => ({ texts: [text], session: 's', model: 'm' });

  test('gives the replies of the first rule that fits, one after the other, as often as each says', () => {
    const script = scriptOf({
      rules: [
        { when: { says: 'red' }, replies: [{ say: '1', times: 2 }, { say: '2' }] },
        { when: { session: 's' }, replies: [{ say: 'any', times: 'always' }] },
      ],
    });
    const says = (text: string) => script.next(asked(text))?.say ?? null;
    expect(['red', 'red', 'red', 'red'].map(says)).toEqual(['1', '1', '2', null]);
    expect(says('blue')).toBe('any');
    script.prepend({ rules: [{ when: { says: 'red' }, replies: [{ say: 'new' }] }] });
    expect(says('red')).toBe('new');
  });

  test('the files of this repository can be read, and a word nobody knows is refused', () => {
    for (const name of ['failures', 'work']) expect(() => scriptOf(scenarioFile(name))).not.toThrow();
    expect(() => scriptOf({ rules: [{ replies: [{ shout: 'x' }] }] } as unknown as Scenario)).toThrow();
  });
});

describe('a model on loopback', () => {
  let llm: Llm;
  afterEach(() => llm.close());

  const ask = async (path: string, body: object) => {
    const answer = await fetch(`${llm.url}${path}`, { method: 'POST', body: JSON.stringify(body) });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  const messages = (text: string, more: object = {}) =>
    ask('/v1/messages?beta=true', {
      model: 'claude-x',
      stream: true,
      tools: [{ name: 'Bash' }],
      system: [{ type: 'text', text: 'Primary working directory: /a/b\n' }],
      messages: [{ role: 'user', content: text }],
      ...more,
    });
  const responses = (text: string, more: object = {}) =>
    ask('/v1/responses', {
      model: 'gpt-x',
      stream: true,
      tools: [{ type: 'function', name: 'exec_command' }],
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }],
      ...more,
    });
  const chat = (text: string, more: object = {}) =>
    ask('/v1/chat/completions', {
      model: 'any-x',
      stream: true,
      tools: [{ type: 'function', function: { name: 'bash' } }],
      messages: [{ role: 'user', content: text }],
      ...more,
    });
  const google = (text: string, more: object = {}) =>
    ask('/v1beta/models/gemini-x:streamGenerateContent', {
      tools: [{ functionDeclarations: [{ name: 'run_shell_command' }] }],
      contents: [{ role: 'user', parts: [{ text }] }],
      ...more,
    });
  const events = (text: string): Record<string, never>[] =>
    [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, json]) => JSON.parse(json as string));

  test('the same scenario runs a command over all protocols, with its usage in the words of each', async () => {
    const usage = { input: 10, output: 7, cacheRead: 3, cacheWrite: 2, reasoning: 1 };
    llm = await startLlm({ rules: [{ replies: [{ say: 'I run it.', run: 'ls', usage, times: 'always' }] }] });
    const anthropic = events((await messages('go')).text);
    expect(anthropic.map((one) => one.type)).toContain('message_stop');
    expect(JSON.stringify(anthropic)).toContain('\\"command\\":\\"ls\\"');
    expect(anthropic.find((one) => one.type === 'message_delta')).toMatchObject({
      delta: { stop_reason: 'tool_use' },
      usage: {
        input_tokens: 10,
        output_tokens: 8,
        cache_read_input_tokens: 3,
        cache_creation_input_tokens: 2,
      },
    });
    const openai = events((await responses('go')).text);
    expect(openai.at(-1)).toMatchObject({
      type: 'response.completed',
      response: {
        usage: {
          input_tokens: 15,
          input_tokens_details: { cached_tokens: 3 },
          output_tokens: 8,
          output_tokens_details: { reasoning_tokens: 1 },
        },
      },
    });
    expect(JSON.stringify(openai)).toContain('exec_command');
    const completions = events((await chat('go')).text);
    expect(completions.at(-1)).toMatchObject({
      choices: [{ finish_reason: 'tool_calls' }],
      usage: { prompt_tokens: 15, completion_tokens: 8 },
    });
    const gemini = events((await google('go')).text);
    expect(JSON.stringify(gemini)).toContain('"name":"run_shell_command","args":{"command":"ls"');
    expect(gemini.at(-1)).toMatchObject({
      candidates: [{ finishReason: 'STOP' }],
      usageMetadata: {
        promptTokenCount: 15,
        candidatesTokenCount: 7,
        cachedContentTokenCount: 3,
        thoughtsTokenCount: 1,
        totalTokenCount: 23,
      },
    });
    expect(llm.told()).toEqual({ input: 40, output: 28, cacheRead: 12, cacheWrite: 8, reasoning: 4 });
    expect(llm.journal.map(({ outcome }) => outcome)).toEqual(Array(4).fill('answered'));
  });

  test('without given usage it counts, and a conversation that goes on reads its own beginning', async () => {
    llm = await startLlm({ rules: [{ replies: [{ say: 'hello', times: 'always' }] }] });
    const cached = (text: string) => [{ type: 'text', text, cache_control: { type: 'ephemeral' } }];
    const first = { role: 'user', content: cached('word '.repeat(2000)) };
    await messages('', { messages: [first] });
    const plain = { role: 'user', content: [{ type: 'text', text: 'word '.repeat(2000) }] };
    const more = [plain, { role: 'assistant', content: 'hello' }, { role: 'user', content: cached('again') }];
    await messages('', { messages: more });
    const [one, two] = llm.journal.map(({ told }) => told);
    expect(one).toMatchObject({ cacheRead: 0 });
    expect(one?.cacheWrite).toBeGreaterThan(2500);
    expect(two?.cacheRead).toBe(one?.cacheWrite);
    await responses('word '.repeat(2000));
    await responses('word '.repeat(2000));
    expect(llm.journal.at(-1)?.told).toMatchObject({ cacheWrite: 0 });
    expect(llm.journal.at(-1)?.told.cacheRead).toBeGreaterThan(2000);
  });

  test('a write has the absolute path of the agent, and a structured answer the tool that wants it', async () => {
    llm = await startLlm(scenarioFile('work'));
    expect((await messages('WRITE-A-FILE')).text).toContain('/a/b/written.txt');
    const tools = [{ name: 'StructuredOutput' }];
    expect((await messages('JUDGE', { tools })).text).toContain('"name":"StructuredOutput"');
    expect((await responses('JUDGE')).text).toContain('judged');
  });

  test.each([
    ['MEET-401', 401, 'authentication_error'],
    ['MEET-429', 429, 'rate_limit_error'],
    ['MEET-529', 529, 'overloaded_error'],
    ['MEET-400', 400, 'invalid_request_error'],
  ])('%s is %i %s in every protocol, and costs nothing', async (word, status, type) => {
    llm = await startLlm(scenarioFile('failures'));
    for (const send of [messages, responses, chat, google]) {
      const answer = await send(word);
      expect(answer.status).toBe(status);
      expect(JSON.parse(answer.text)).toMatchObject({ error: { type } });
    }
    expect(llm.told()).toMatchObject({ input: 0, output: 0 });
  });

  test('a provider’s own error is sent as it is, in the middle of a stream too', async () => {
    const errors = ['no credit', 'overload in mid-stream'] as const;
    llm = await startLlm({
      rules: errors.map((error) => ({
        when: { says: error },
        replies: [{ error, say: 'x', times: 'always' }],
      })),
    });
    for (const [send, protocol] of [
      [messages, 'messages'],
      [responses, 'responses'],
      [chat, 'chat'],
      [google, 'generateContent'],
    ] as const) {
      const refused = await send('no credit');
      const { status, body } = ANSWERED[protocol]['no credit'];
      expect([refused.status, JSON.parse(refused.text)]).toEqual([status, body]);
      const broken = await send('overload in mid-stream');
      expect(broken.status).toBe(200);
      const { midStream } = ANSWERED[protocol]['overload in mid-stream'];
      expect(events(broken.text)).toContainEqual(midStream?.at(-1)?.data);
    }
    expect(llm.journal.map(({ outcome }) => outcome)).toEqual(Array(8).fill('failed'));
  });

  test('from a word on it refuses everybody, until told otherwise', async () => {
    llm = await startLlm({ rules: [{ replies: [{ say: 'ok', times: 'always' }] }] });
    llm.refuse('bad key', 'RED');
    const statuses = async (...texts: string[]) => {
      const found: number[] = [];
      for (const text of texts) found.push((await messages(text)).status);
      return found;
    };
    expect(await statuses('blue', 'RED', 'blue')).toEqual([200, 401, 401]);
    llm.refuse(null);
    expect(await statuses('RED')).toEqual([200]);
  });

  test('a limit tells when it ends, in headers to one and in the body to the other', async () => {
    llm = await startLlm(scenarioFile('failures'), { now: () => 1_000_000 });
    const claude = await messages('MEET-LIMIT');
    expect(claude.headers.get('anthropic-ratelimit-unified-reset')).toBe('4600');
    expect(JSON.parse((await responses('MEET-LIMIT')).text)).toMatchObject({ error: { resets_at: 4600 } });
  });

  test('a stream that is dropped in the middle told what its beginning told', async () => {
    const usage = { input: 5, output: 9 };
    llm = await startLlm({ rules: [{ replies: [{ say: 'x'.repeat(20_000), drop: 'middle', usage }] }] });
    await expect(messages('go')).rejects.toThrow();
    expect(llm.journal[0]).toMatchObject({ outcome: 'dropped', told: { input: 5, output: 1 } });
  });

  test('what hangs stays open until the model goes away', async () => {
    llm = await startLlm({ rules: [{ replies: [{ say: 'x', hang: 'middle' }, { hang: 'before' }] }] });
    const open = await fetch(`${llm.url}/v1/messages`, {
      method: 'POST',
      body: JSON.stringify({ model: 'm', stream: true, tools: [{ name: 'Bash' }], messages: [] }),
    });
    const never = messages('go').catch((error: Error) => error);
    await expect.poll(() => llm.journal.map(({ outcome }) => outcome)).toEqual(['hung', 'hung']);
    await llm.close();
    await expect(open.text()).rejects.toThrow();
    expect(await never).toBeInstanceOf(Error);
  });

  test('what the script does not foresee is refused and noted; a question on the side gets a word', async () => {
    llm = await startLlm({ rules: [] });
    expect((await messages('go')).status).toBe(500);
    expect(llm.journal[0]).toMatchObject({ outcome: 'unscripted' });
    expect((await messages('a title?', { tools: [], stream: false })).text).toContain('"text":"ok"');
    expect((await ask('/v1/messages/count_tokens', { messages: [] })).text).toContain('input_tokens');
    expect((await fetch(`${llm.url}/v1/models`)).status).toBe(200);
    expect(llm.others).toEqual(['POST /v1/messages/count_tokens', 'GET /v1/models']);
  });
});
