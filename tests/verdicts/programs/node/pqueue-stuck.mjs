import sample from './lib/sample.cjs';
import dump from './lib/heapdump.cjs';
import { scheduleThumbnail } from './pqueue-stuck/thumbnails.mjs';
const goods = sample.catalog(5000);
for (let i = 0; i < 7000; i++) scheduleThumbnail({ id: i, bytes: i < 2 ? null : sample.text(900), meta: { owner: sample.text(20), size: [i, i] } });
setInterval(() => goods.size, 8000);
dump.whenIdle();
