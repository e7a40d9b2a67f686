package lobby;
class Visit {
    final String guest, profile; boolean away;
    Visit(String guest, String profile) { this.guest = guest; this.profile = profile; }
}
