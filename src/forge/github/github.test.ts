import { githubScratch } from '../../../test/support/github/scratch.ts';
import { forgeContract } from '../contract.ts';

forgeContract('github', () => githubScratch());
