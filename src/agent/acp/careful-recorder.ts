/** A recorder of what an agent may have made unreadable: then what it used is not known, and the turn goes on. */
import { unlessStrange } from '../stranger-files.ts';
import type { Recorder } from './presets.ts';

export async function carefulRecorder(opening: Promise<Recorder>): Promise<Recorder> {
  const recorder = await unlessStrange(opening);
  if (recorder === null) return { read: async () => {}, isComplete: () => false };
  let isRead = true;
  const trying = async (reading: Promise<void>): Promise<void> => {
    const isDone = await unlessStrange(reading.then(() => true));
    isRead &&= isDone !== null;
  };
  return {
    ...recorder,
    read: () => trying(recorder.read()),
    close: async () => recorder.close && trying(recorder.close()),
    isComplete: () => isRead && recorder.isComplete(),
  };
}
