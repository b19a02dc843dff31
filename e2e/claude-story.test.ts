import { CLAUDE_MODEL } from './claude.ts';
import { storyOnGitHub } from './github-story.ts';
import { type Protagonist, realStory } from './story.ts';

const hero: Protagonist = {
  kind: 'claude',
  isDirect: true,
  model: CLAUDE_MODEL,
  env: (llm, how) => ({
    ANTHROPIC_BASE_URL: llm.url,
    ...(how === 'key' ? { ANTHROPIC_API_KEY: 'sk-test' } : { CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-test' }),
  }),
};

realStory(hero);
storyOnGitHub(hero);
