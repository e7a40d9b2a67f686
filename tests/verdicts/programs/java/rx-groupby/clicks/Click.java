package clicks;
public final class Click {
    final String session, path, referrer;
    final long at;
    Click(String session, String path, String referrer, long at) { this.session = session; this.path = path; this.referrer = referrer; this.at = at; }
}
