/** What every channel must do, against a service on loopback that is as strict as the real one, or a program that is one. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ChannelPolicy, Message, Notice } from '../core/tell/notify.ts';
import type { Channel, Channels, SendOptions, Sent } from './notify.ts';
import { openChannels } from './open.ts';

export interface ChannelUnderTest {
  channel: Channel;
  policy: ChannelPolicy;
  /** Everything that arrived, as one text for each message. */
  arrived(): string[];
  /** The service fails the next time, and says this. */
  failNext(says: string): void;
  /** The service takes the next message and never answers. */
  hangNext(): void;
  /** Resolves when something has arrived that was not there before. */
  somethingArrived(): Promise<void>;
  /** A text as its service shows it, of what was sent: without its escapes. */
  shown(sent: string): string;
  /** The id of a message is part of what is sent. */
  showsId: boolean;
  /** Its service gives a meaning to some characters. */
  hasMarkup: boolean;
  /** A service that can say when it may be asked again: the next time it does. */
  limitNext?(): void;
  dispose(): Promise<void>;
}

export const SECRET_PATH = '/services/T00/B00/verysecretpath';
export const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);

export function channelContract(name: string, open: () => Promise<ChannelUnderTest>): void {
  describe(`channel ${name}`, () => {
    let subject: ChannelUnderTest;
    let channels: Channels;
    beforeEach(async () => {
      subject = await open();
      channels = openChannels([subject.channel]);
    });
    afterEach(() => subject.dispose());

    const send = (message: Message, options: Partial<SendOptions> = {}): Promise<Sent> =>
      channels.send(message, subject.policy, {
        signal: new AbortController().signal,
        onHeld: async () => {},
        ...options,
      });
    const only = (): string => {
      expect(subject.arrived()).toHaveLength(1);
      return subject.arrived()[0]!;
    };

    test('sends one notice once, with its title, its text and the name of the project', async () => {
      expect(await send(message([notice(1)]))).toEqual({ kind: 'sent' });
      const shown = subject.shown(only());
      for (const part of ['project', 'title 1', 'text 1']) expect(shown).toContain(part);
    });

    test('sends several as one digest', async () => {
      expect(await send(message([notice(1), notice(2), notice(3)], 4))).toEqual({ kind: 'sent' });
      const shown = subject.shown(only());
      for (const part of ['7 notices', 'title 1', 'text 3', 'and 4 more']) expect(shown).toContain(part);
    });

    test('keeps to the limits of its service, however much there is to say', async () => {
      const long = (index: number): Notice => ({ ...notice(index), text: '<&*_世🦊'.repeat(70) });
      expect(await send(message(Array.from({ length: 40 }, (_, index) => long(index))))).toEqual({
        kind: 'sent',
      });
      expect(only()).not.toMatch(/\\ud83e(?!\\udd8a)|\uFFFD/);
    });

    test('shows text of strangers as it is, and calls nobody by it', async () => {
      const text = '<!channel> @everyone <@U123> <http://bad|good> [good](http://bad) *b* `x` & "q" $(id)';
      expect(await send(message([{ ...notice(1), text }]))).toEqual({ kind: 'sent' });
      const sent = only();
      expect(subject.shown(sent)).toContain(text);
      if (subject.hasMarkup) expect(sent).not.toMatch(/(?<!\\)<(!channel|@U123)/);
    });

    test('a failure is said, without any secret', async () => {
      const { url, secret, token } = subject.policy;
      subject.failNext(`refused at ${url} ${SECRET_PATH} ${secret} ${token}`);
      const sent = await send(message([notice(1)]));
      expect(sent).toMatchObject({ kind: 'failed', retryAt: null });
      const why = sent.kind === 'failed' ? sent.why : '';
      expect(why).toContain('refused at');
      const parts = url === null ? [] : [url, SECRET_PATH, 'verysecretpath'];
      for (const one of [...parts, secret, token]) if (one !== null) expect(why).not.toContain(one);
    });

    test('the same message again has the same id', async () => {
      subject.failNext('busy');
      const same = message([notice(1)]);
      await send(same);
      const before = subject.arrived().length;
      expect(await send(same)).toEqual({ kind: 'sent' });
      for (const one of subject.arrived().slice(before - 1))
        if (subject.showsId) expect(one).toContain(same.id);
    });

    test('waits as long as its service asks for', async () => {
      if (!subject.limitNext) return;
      subject.limitNext();
      expect(await send(message([notice(1)]))).toMatchObject({ kind: 'failed', retryAt: NOW + 7000 });
    });

    test('ends at once when it is aborted', async () => {
      subject.hangNext();
      const controller = new AbortController();
      const sending = send(message([notice(1)]), { signal: controller.signal });
      await subject.somethingArrived();
      controller.abort();
      expect(await sending).toMatchObject({ kind: 'failed' });
    });

    test('says what is missing, and then sends nothing', async () => {
      const bare = { ...subject.policy, url: null, secret: null, token: null, command: null };
      const problem = await channels.problem(bare);
      // A desktop needs nothing.
      if (problem === null) return;
      expect(problem).toMatch(/^notify\.channels\.mine\.(url|command) is not set/);
      const options = { signal: new AbortController().signal, onHeld: async () => {} };
      expect(await channels.send(message([notice(1)]), bare, options)).toMatchObject({ why: problem });
      expect(subject.arrived()).toEqual([]);
    });
  });
}

export const channelPolicy = (part: Partial<ChannelPolicy>): ChannelPolicy => ({
  name: 'mine',
  kind: 'webhook',
  events: ['merged'],
  digestMs: 0,
  quiet: null,
  url: null,
  secret: null,
  token: null,
  command: null,
  passEnv: [],
  ...part,
});

const notice = (index: number): Notice => ({
  id: `${index}`,
  kinds: ['merged'],
  at: NOW,
  task: 'abcd1234',
  issue: index,
  title: `title ${index}`,
  text: `text ${index}`,
});

export const message = (notices: readonly Notice[], more = 0): Message => ({
  id: '0b1c2d3e-0000-4000-8000-000000000001',
  at: NOW,
  project: 'project',
  notices,
  more,
});
