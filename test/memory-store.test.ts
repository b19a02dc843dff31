import { storeContract } from '../src/store/contract.ts';
import { memoryStore } from './support/memory-store.ts';

storeContract('memory', async () => {
  const store = memoryStore();
  return { store, reopen: async () => store, cleanup: () => store.close() };
});
