package catalog;
import net.sf.ehcache.*;
import net.sf.ehcache.config.*;
public class PriceCache {
    private final Ehcache prices;
    public PriceCache() {
        Configuration c = new Configuration(); c.setName("shop"); c.setUpdateCheck(false); CacheManager m = CacheManager.create(c);
        prices = m.addCacheIfAbsent(new Cache(new CacheConfiguration("pricesByBasket", 0).eternal(true)));
    }
    public String price(String basket) {
        Element e = prices.get(basket);
        if (e == null) { e = new Element(basket, ops.Sample.text(300)); prices.put(e); }
        return (String) e.getObjectValue();
    }
}
