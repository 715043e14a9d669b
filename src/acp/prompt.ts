import type { ContentBlock } from '@agentclientprotocol/sdk';

type Part = { type: 'text'; text: string } | { type: 'file'; mediaType: string; data: string };

/** Returns the message of a prompt. What a link names is not read: the agent has tools for that, or has not. */
export function messageOfBlocks(blocks: readonly ContentBlock[]): { role: 'user'; content: Part[] } {
  return { role: 'user', content: blocks.map(partOf) };
}

function partOf(block: ContentBlock): Part {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'image':
    case 'audio':
      return { type: 'file', mediaType: block.mimeType, data: block.data };
    case 'resource_link':
      return { type: 'text', text: `[${block.name}: ${block.uri}]` };
    case 'resource': {
      const { resource } = block;
      if ('text' in resource) return { type: 'text', text: `[${resource.uri}]\n${resource.text}` };
      return { type: 'file', mediaType: resource.mimeType ?? 'application/octet-stream', data: resource.blob };
    }
    default:
      return { type: 'text', text: JSON.stringify(block satisfies never) };
  }
}
