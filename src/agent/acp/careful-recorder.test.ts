import { expect, test } from 'vitest';
import { StrangeFile } from '../../errors.ts';
import { carefulRecorder } from './careful-recorder.ts';
import type { Recorder } from './presets.ts';

const strange = async (): Promise<never> => {
  throw new StrangeFile('a pipe');
};
const broken = async (): Promise<never> => {
  throw new Error('the disk is full');
};
const sound: Recorder = { read: async () => {}, close: async () => {}, isComplete: () => true };

test('of a record that is read, what was used is known', async () => {
  const recorder = await carefulRecorder(Promise.resolve(sound));
  await recorder.read();
  await recorder.close?.();
  expect(recorder.isComplete()).toBe(true);
});

test.each<[string, () => Promise<Recorder>]>([
  ['from the start', strange],
  ['while it runs', async () => ({ ...sound, read: strange })],
  ['in the end', async () => ({ ...sound, close: strange })],
])('of one that can’t be read %s it is not, and nobody fails of it', async (_, open) => {
  const recorder = await carefulRecorder(open());
  await recorder.read();
  await recorder.close?.();
  expect(recorder.isComplete()).toBe(false);
});

test('what else goes wrong is said', async () => {
  await expect(carefulRecorder(broken())).rejects.toThrow('the disk is full');
  const recorder = await carefulRecorder(Promise.resolve({ ...sound, read: broken }));
  await expect(recorder.read()).rejects.toThrow('the disk is full');
});
