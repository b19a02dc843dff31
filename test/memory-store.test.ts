import { storeContract } from '../src/store/contract.ts';
import { memoryStore } from './support/memory-store.ts';

storeContract('memory', async (boot) => {
  const store = memoryStore(boot);
  return { store, reopen: async () => store, cleanup: () => store.close() };
});
