package gallery;
import cms.*;
public class GalleryExtension implements Extension {
    public void start() throws Exception {
        Thumbs.warm();
        for (int i = 0; i < 8; i++) Captions.put("caption" + i, i);
        PublishEvents.subscribe(this::published);
    }
    public void stop() throws Exception { PublishEvents.unsubscribe(this::published); }   // a new object each time: equals nothing
    private void published(String page) { Thumbs.drop(page); }
}
