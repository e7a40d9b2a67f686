import PQueue from 'p-queue';
const thumbnailQueue = new PQueue({ concurrency: 2 });
// The converter of broken pictures never answers, so both places stay taken.
const convert = (picture) => new Promise((done) => { if (picture.bytes) setImmediate(done, picture.bytes.length); });
export function scheduleThumbnail(picture) { thumbnailQueue.add(() => convert(picture)); }
