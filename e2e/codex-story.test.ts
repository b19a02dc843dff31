import { CODEX_MODEL } from './codex.ts';
import { storyOnGitHub } from './github-story.ts';
import { type Protagonist, realStory } from './story.ts';

// Codex is signed in by a key in both: its limits tell their end in the answer's headers.
const hero: Protagonist = {
  kind: 'codex',
  isDirect: true,
  model: CODEX_MODEL,
  env: (llm) => ({ OPENAI_BASE_URL: `${llm.url}/v1`, OPENAI_API_KEY: 'sk-test' }),
};

realStory(hero);
storyOnGitHub(hero);
